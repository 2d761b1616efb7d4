#pragma once

#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/linear_operator.hpp>

#include <span>
#include <vector>

namespace weft {

struct ConvolveNdOptions {
  /// Index of the filter element at lag 0: one per axis of the filter. By default 0 along all.
  std::vector<index_t> offset = {};
  /// The axes to convolve along, one per axis of the filter. By default the last ones of the array.
  std::vector<int> axes = {};
  /// Automatic compares the number of taps with the time of transforms of this size.
  ConvolutionMethod method = ConvolutionMethod::automatic;
};

/// Convolution with a filter along several axes: y[i] = sum over j of h[j] x[i + offset - j], where
/// x is zero outside the array. y has the shape of x. PyLops: Convolve2D, ConvolveND.
///
/// The filter has the given shape and is in row-major order; all ranks pass the same. It may be
/// longer than the array along any axis. The adjoint is the correlation with the filter.
///
/// Communication: `direct` exchanges one halo, corners included, if one of the axes is distributed;
/// `fft` communicates as fftnd and its adjoint do.
template <Scalar T>
LinearOperator<T> convolve_nd(const Layout& layout, const Shape& shape,
                              std::type_identity_t<std::span<const T>> filter,
                              const ConvolveNdOptions& options = {});

}  // namespace weft
