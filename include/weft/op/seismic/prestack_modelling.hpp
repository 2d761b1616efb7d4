#pragma once

#include <weft/op/seismic/avo_modelling.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include <span>
#include <vector>

namespace weft {

struct PrestackModellingOptions {
  /// The ratio of vs to vp and the linearization; see AvoModellingOptions.
  std::vector<double> vsvp = {0.5};
  AvoLinearization linearization = aki_richards;
  /// The finite differences of the derivative.
  DerivativeKind kind = DerivativeKind::centered;
};

/// Angle gathers from the logarithms of elastic parameters: y = W G D x, where D is the first
/// derivative along the samples, G avo_modelling, and W the convolution with a wavelet, whose time
/// zero is at index size / 2. Axes and layouts are those of avo_modelling. Communication: that of
/// convolve1d and first_derivative along axis 0. PyLops: PrestackLinearModelling.
template <Scalar T>
LinearOperator<T> prestack_modelling(const Layout& layout,
                                     std::type_identity_t<std::span<const T>> wavelet,
                                     const std::vector<double>& theta,
                                     const PrestackModellingOptions& options = {});

}  // namespace weft
