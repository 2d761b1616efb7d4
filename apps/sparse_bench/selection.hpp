#pragma once

#include "sparse_bench/options.hpp"

namespace weft::sparse_bench {

/// Selection with error feedback on all ranks at the same time, against a copy that reads and
/// writes as many bytes together. Times are those of the slowest rank, medians over the rounds.
struct SelectionRow {
  std::string selector;
  DType dtype = DType::f32;
  index_t n = 0;
  double density = 0;
  double seconds = 0;
  double copy_seconds = 0;
  /// The median over the rounds of seconds / copy_seconds.
  double ratio = 0;
  /// In 10^9 bytes per second and rank.
  double gbs = 0;
  double copy_gbs = 0;
  /// Divided by k.
  double selected = 0;
};

/// Collective; all ranks get the same rows.
std::vector<SelectionRow> measure_selection(const Comm& comm, const Options& options, int calls);

}  // namespace weft::sparse_bench
