#pragma once

// Which algorithm an allreduce uses. The choice depends only on what all ranks know.

#include "comm/node_board.hpp"
#include "comm/transport.hpp"

#include <span>
#include <string_view>

namespace weft::detail {

/// An algorithm for host memory of processes on one host.
struct NodeAllreduce {
  std::string_view name;
  /// The result is the op over the ranks in order, bit by bit, for every size.
  bool keeps_rank_order;
  /// The largest data it can reduce, in bytes.
  index_t limit;
  void (NodeBoard::*run)(ConstBufferRef in, BufferRef out, ReduceOp op);
};

/// All of them, by the size up to which they are the fastest.
std::span<const NodeAllreduce> node_allreduces();

/// The algorithm for this many ranks and bytes.
const NodeAllreduce& choose_node_allreduce(int ranks, index_t bytes);

}  // namespace weft::detail
