#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include <span>

namespace weft {

struct PoststackModellingOptions {
  /// The axis of the samples.
  int axis = 0;
  /// The finite differences of the derivative.
  DerivativeKind kind = DerivativeKind::centered;
};

/// Seismic traces of zero offset from the logarithm of the acoustic impedance: y = W D x, where D
/// is the first derivative along an axis and W the convolution with a wavelet, whose time zero is
/// at index size / 2. Reflection coefficients are half of D x: scale the wavelet to have them. All
/// ranks pass the same wavelet. Communication: that of convolve1d and first_derivative. PyLops:
/// PoststackLinearModelling.
template <Scalar T>
LinearOperator<T> poststack_modelling(const Layout& layout,
                                      std::type_identity_t<std::span<const T>> wavelet,
                                      const PoststackModellingOptions& options = {});

}  // namespace weft
