#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct SmoothingOptions {
  /// The axes to smooth along; if empty, the last ones, as many as there are lengths.
  std::vector<int> axes = {};
};

/// Moving average over a box with one odd length per axis: y[i] = sum over |j - i| <= length / 2 of
/// x[j] / length along each axis, where x is zero outside the array. Self-adjoint. One pass per
/// axis; each sum is of the elements in its box alone, so that rounding errors do not accumulate
/// along the axis. Boxes longer than 63 are applied by convolve1d. Communication: one halo exchange
/// per distributed axis, or that of convolve1d. PyLops: Smoothing1D, Smoothing2D, SmoothingND.
template <Scalar T>
LinearOperator<T> smoothing(const Layout& layout, const std::vector<index_t>& lengths,
                            const SmoothingOptions& options = {});

}  // namespace weft
