#pragma once

#include "bench/cases.hpp"

#include <optional>
#include <string_view>

namespace weft::bench {

/// Times in microseconds, the largest over all ranks.
struct RawTimes {
  double time_us = 0;
  /// Medians over the rounds of ours / theirs and ours - theirs.
  double ratio = 0;
  double difference_us = 0;
};

/// The result of one call in one form.
struct Cell {
  double time_us = 0;
  /// In GB (10^9 bytes) per second.
  double algbw = 0;
  double busbw = 0;
  /// Summed over ranks and checks; absent if nothing was checked.
  std::optional<index_t> wrong;
  std::optional<RawTimes> raw;
};

struct Row {
  index_t bytes = 0;
  index_t count = 0;
  DType dtype = DType::f32;
  std::optional<ReduceOp> op;
  std::optional<int> root;
  std::optional<Cell> out_of_place;
  std::optional<Cell> in_place;
  /// Empty if the table has chosen it.
  std::string_view algorithm;
};

/// The overhead over the bare call is reported in microseconds for messages below this size, and as
/// a ratio for others.
inline constexpr index_t large_bytes = index_t{64} << 10;

struct Summary {
  index_t wrong = 0;
  /// Over all cells.
  double average_busbw = 0;
  std::optional<double> worst_ratio_large;
  std::optional<double> worst_difference_small_us;
};
Summary summarize(const std::vector<Row>& rows);

/// Merges another measurement of the same calls: the faster times, and all wrong values.
void keep_faster(std::optional<Cell>& cell, const std::optional<Cell>& other);

/// A cell without its check and comparison.
Cell make_cell(double seconds, index_t bytes, double factor);

}  // namespace weft::bench
