#pragma once

#include "sparse_bench/cases.hpp"

namespace weft::sparse_bench {

/// Verified calls of one algorithm.
struct CheckRow {
  Case at;
  /// What is wrong; empty if nothing is.
  std::string failure;
};

/// Makes two calls on integer-valued gradients, and one with density 1 and exact selection. Checks
/// that gradients + residuals before = result + residuals after, that all ranks have the same
/// result, and that density 1 is the dense sum and leaves a residual of 0. Collective; all ranks
/// get the same row.
CheckRow check(const Comm& comm, const Options& options, const Case& at);

}  // namespace weft::sparse_bench
