#pragma once

#include <weft/sparse_allreduce/sparse_options.hpp>

#include "support/ranks.hpp"

#include <string>

namespace weft::test {

/// Sums of gradients in memory of message_device().
inline SparseOptions summing(const std::string& algorithm, double density,
                             DType dtype = DType::f32) {
  SparseOptions options;
  options.algorithm = algorithm;
  options.density = density;
  options.dtype = dtype;
  options.device = message_device();
  options.op = ReduceOp::sum;
  // Otherwise "auto" reduces small tensors densely.
  options.costs = {0, 1e-9, 0};
  return options;
}

}  // namespace weft::test
