#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include <vector>

namespace weft {

struct LaplacianOptions {
  /// The axes to differentiate along.
  std::vector<int> axes = {-2, -1};
  /// Weights of the second derivatives: one for all of `axes`, or one each.
  std::vector<double> weights = {1};
  /// Distance between samples: one for all of `axes`, or one each.
  std::vector<double> sampling = {1};
  /// As in SecondDerivativeOptions.
  bool edge = false;
  DerivativeKind kind = DerivativeKind::centered;
  /// Points of a centered difference: 3 or 5.
  int order = 3;
};

/// y = sum over `axes` of w[a] Da x, where Da is second_derivative along axis a. Forward and
/// adjoint each take one pass over memory and one halo exchange. PyLops: Laplacian.
template <Scalar T>
LinearOperator<T> laplacian(const Layout& layout, const LaplacianOptions& options = {});

}  // namespace weft
