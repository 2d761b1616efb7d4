#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include <vector>

namespace weft {

struct DirectionalDerivativeOptions {
  /// Distance between samples: one for all axes, or one per axis.
  std::vector<double> sampling = {1};
  /// As in FirstDerivativeOptions.
  bool edge = false;
  DerivativeKind kind = DerivativeKind::centered;
  int order = 3;
};

/// Derivative in a constant direction: y = sum over axes a of v[a] Da x, where Da is
/// first_derivative along axis a and v has one number per axis, the same on all ranks. v need not
/// be a unit vector. Forward and adjoint each take one pass over memory and one halo exchange.
/// PyLops: FirstDirectionalDerivative.
template <Scalar T>
LinearOperator<T> first_directional_derivative(const Layout& layout, const std::vector<double>& v,
                                               const DirectionalDerivativeOptions& options = {});
/// The same in a direction that varies: v is a stack of arrays with the given layout, one per axis.
/// The operator copies v. Communication: one halo exchange.
template <Scalar T>
LinearOperator<T> first_directional_derivative(const Layout& layout,
                                               const std::type_identity_t<ConstArrayView<T>>& v,
                                               const DirectionalDerivativeOptions& options = {});

/// y = -Dᴴ D x, where D is first_directional_derivative: negative semidefinite, and the second
/// derivative along a constant direction. PyLops: SecondDirectionalDerivative.
template <Scalar T>
LinearOperator<T> second_directional_derivative(const Layout& layout, const std::vector<double>& v,
                                                const DirectionalDerivativeOptions& options = {});
template <Scalar T>
LinearOperator<T> second_directional_derivative(const Layout& layout,
                                                const std::type_identity_t<ConstArrayView<T>>& v,
                                                const DirectionalDerivativeOptions& options = {});

}  // namespace weft
