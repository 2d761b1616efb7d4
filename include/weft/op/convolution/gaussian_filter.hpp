#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct GaussianFilterOptions {
  /// Standard deviations in samples: one for all axes or one per axis. 0 leaves an axis as it is.
  std::vector<double> sigma = {1};
  /// The axes to filter; by default all axes of the array.
  std::vector<int> axes = {};
  /// The filter ends at this many standard deviations, rounded to samples.
  double truncate = 4;
};

/// Convolution with exp(-(j / sigma)^2 / 2) along several axes, normalized to the sum 1. x is zero
/// outside the array, so that the operator is self-adjoint. Communication: as convolve1d along each
/// distributed axis.
template <Scalar T>
LinearOperator<T> gaussian_filter(const Layout& layout, const GaussianFilterOptions& options = {});

}  // namespace weft
