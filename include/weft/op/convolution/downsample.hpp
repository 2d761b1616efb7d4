#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct DownsampleOptions {
  /// Keep every factors-th sample: one factor for all axes or one per axis.
  std::vector<index_t> factors = {2};
  /// Standard deviations in samples of the Gaussian filter before: one for all axes or one per
  /// axis; 0 does not filter. By default (factor - 1) / 2.
  std::vector<double> sigma = {};
  /// The filter ends at this many standard deviations, rounded to samples.
  double truncate = 4;
  /// The axes to downsample.
  std::vector<int> axes = {-2, -1};
};

/// A Gaussian filter against aliasing, then y[i] = x[factor i] along several axes. x is zero
/// outside the array. PyLops: Downsample2D.
///
/// Samples stay on their ranks: distributed axes remain distributed, in general unevenly.
/// Communication: that of gaussian_filter.
template <Scalar T>
LinearOperator<T> downsample(const Layout& layout, const DownsampleOptions& options = {});

}  // namespace weft
