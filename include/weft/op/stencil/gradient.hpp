#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include <vector>

namespace weft {

struct GradientOptions {
  /// Distance between samples: one for all axes, or one per axis.
  std::vector<double> sampling = {1};
  /// As in FirstDerivativeOptions.
  bool edge = false;
  DerivativeKind kind = DerivativeKind::centered;
  /// Points of a centered difference: 3, 5, 7 or 9.
  int order = 3;
};

/// y = (D0 x, D1 x, ...), where Da is first_derivative along axis a. The range is a stack of arrays
/// with the layout of x, one per axis. Forward and adjoint each take one pass over memory and one
/// halo exchange. PyLops: Gradient.
template <Scalar T>
LinearOperator<T> gradient(const Layout& layout, const GradientOptions& options = {});

}  // namespace weft
