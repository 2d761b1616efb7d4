#include "comm/allreduce_table.hpp"

#include <array>
#include <limits>

namespace weft::detail {
namespace {

constexpr index_t unlimited = std::numeric_limits<index_t>::max();

constexpr std::array<NodeAllreduce, 3> rows = {{
    {"inline", true, NodeBoard::inline_bytes, &NodeBoard::allreduce_inline},
    {"one_shot", true, unlimited, &NodeBoard::allreduce_one_shot},
    {"two_shot", true, unlimited, &NodeBoard::allreduce_two_shot},
}};

/// Up to this size one shot is faster than two, by weft bench allreduce on 16 cores. In one shot,
/// every rank reads the data of all others, so the limit falls with their number.
index_t one_shot_limit(int ranks) {
  if (ranks <= 2) return unlimited;
  return (index_t{16} << 10) / ranks;
}

}  // namespace

std::span<const NodeAllreduce> node_allreduces() { return rows; }

const NodeAllreduce& choose_node_allreduce(int ranks, index_t bytes) {
  if (bytes <= NodeBoard::inline_bytes) return rows[0];
  return bytes <= one_shot_limit(ranks) ? rows[1] : rows[2];
}

}  // namespace weft::detail
