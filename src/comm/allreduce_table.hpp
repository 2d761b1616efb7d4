#pragma once

// Which algorithm an allreduce uses. The choice depends only on what all ranks know, so all of them
// make the same.
//
// The algorithms of a place are rows in allreduce_table.cpp. A table holds limits: up to which size
// an algorithm is used, for a place and a number of ranks. A transport takes the limits for its
// ranks once, as AllreduceChoices, and compares a few numbers in each call.

#include <weft/comm/reduce_op.hpp>
#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

#include "core/environment.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// Ranks that can reach into each other's memory: threads and processes of one host on host memory,
/// and on the memory of a GPU that they share.
enum class AllreducePlace : std::uint8_t { thread, process, gpu_thread, gpu_process };
std::string_view to_string(AllreducePlace place);

enum class AllreduceAlgorithm : std::uint8_t {
  slots,
  slices,
  in_line,  // "inline"
  one_shot,
  two_shot,
  beneath,
  ll,
  push,
  relay,
};

/// A call, as all ranks know it.
struct AllreduceQuery {
  int ranks = 1;
  index_t bytes = 0;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  /// The call is recorded in a graph.
  bool captured = false;
  /// Between processes on a GPU: the memory of the call is registered. Ranks that differ are
  /// detected later: see GpuRegistry.
  bool registered = false;
};

/// An algorithm of a place.
struct AllreduceRow {
  AllreducePlace place;
  AllreduceAlgorithm algorithm;
  std::string_view name;
  /// The result is the op over the ranks in order, bit by bit, for every size.
  bool keeps_rank_order;
  bool (*applies)(const AllreduceQuery& query);

  /// WEFT_ORDER admits it.
  bool suits(ReduceOrder order) const {
    return keeps_rank_order || order == ReduceOrder::arbitrary;
  }
};

/// The algorithms of a place, by the size for which they are meant.
std::span<const AllreduceRow> allreduce_rows(AllreducePlace place);
/// Null if the place has no such algorithm.
const AllreduceRow* find_allreduce_row(AllreducePlace place, std::string_view name);
const AllreduceRow& allreduce_row(AllreducePlace place, AllreduceAlgorithm algorithm);
/// "inline, one_shot, two_shot, beneath"
std::string allreduce_names(AllreducePlace place);

/// The largest data of the algorithm `ll` on GPUs.
inline constexpr index_t gpu_ll_bytes = index_t{32} << 10;

/// In a place with at least this many ranks, `algorithm` is used up to `up_to` bytes.
struct AllreduceLimit {
  static constexpr index_t unlimited = std::numeric_limits<index_t>::max();

  AllreducePlace place = AllreducePlace::thread;
  int ranks = 1;
  index_t up_to = unlimited;
  AllreduceAlgorithm algorithm = AllreduceAlgorithm::slices;
  friend bool operator==(const AllreduceLimit&, const AllreduceLimit&) = default;
};

/// The limits for one place and number of ranks.
class AllreduceChoices {
 public:
  /// The first algorithm whose limit admits the size, and which applies.
  AllreduceAlgorithm choose(const AllreduceQuery& query) const {
    const Entry* entry = entries_.data();
    while (query.bytes > entry->up_to || !entry->applies(query)) ++entry;  // the last one applies
    return entry->algorithm;
  }

 private:
  friend class AllreduceTable;
  struct Entry {
    index_t up_to;
    bool (*applies)(const AllreduceQuery& query);
    AllreduceAlgorithm algorithm;
  };
  std::vector<Entry> entries_;
};

class AllreduceTable {
 public:
  /// The default limits apply where `limits` have none: to places and numbers of ranks that they
  /// lack, and to calls for which no algorithm in them is allowed.
  AllreduceTable(std::vector<AllreduceLimit> limits, ReduceOrder order);

  /// By the limits for this number of ranks, or else for the next lower number.
  AllreduceChoices choices(AllreducePlace place, int ranks) const;
  ReduceOrder order() const { return order_; }
  /// Ranks with the same hash choose the same algorithms.
  std::uint64_t hash() const { return hash_; }

 private:
  std::vector<AllreduceLimit> limits_;
  ReduceOrder order_;
  std::uint64_t hash_;
};

/// The table of this process, by WEFT_TABLE and WEFT_ORDER. Throws ArgumentError, at every call,
/// while the file is wrong; `launch` makes the first call.
const std::shared_ptr<const AllreduceTable>& allreduce_table();

/// The ranks among which a transport chooses by the table.
struct AllreduceTeam {
  AllreducePlace place = AllreducePlace::thread;
  int ranks = 1;
};

}  // namespace weft::detail
