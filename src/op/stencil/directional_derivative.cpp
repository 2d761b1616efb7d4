#include <weft/op/stencil/directional_derivative.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/stencil/gradient.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_options.hpp"
#include "op/checks.hpp"
#include "op/stencil/differences.hpp"
#include "op/stencil/stencil_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr const char* first = "first_directional_derivative";
constexpr const char* second = "second_directional_derivative";

template <Scalar T>
LinearOperator<T> along_constant(const Layout& layout, const std::vector<double>& v,
                                 const DirectionalDerivativeOptions& options, const char* who) {
  detail::agree_on_plan(who, {&layout}, dtype_of<T>,
                        fmt::format("v {}, sampling {}, kind {}, edge {}, order {}",
                                    fmt::join(v, " "), fmt::join(options.sampling, " "),
                                    static_cast<int>(options.kind), options.edge, options.order));
  const auto axes = static_cast<std::size_t>(layout.ndim());
  require(axes > 0, "{}: the array has no axes", who);
  require(v.size() == axes, "{}: got {} components of v for {} axes", who, v.size(), axes);
  require(std::all_of(v.begin(), v.end(), [](double each) { return std::isfinite(each); }),
          "{}: the components of v must be finite, got {}", who, fmt::join(v, ", "));
  std::vector<detail::AxisMatrix> matrices;
  for (std::size_t a = 0; a < axes; ++a) {
    const double sampling = detail::value_for_axis(options.sampling, a, axes, "sampling", who);
    const int axis = static_cast<int>(a);
    matrices.push_back(
        {axis, detail::first_difference(layout.shape()[axis],
                                        {sampling, options.kind, options.edge, options.order, v[a]},
                                        who)});
  }
  return detail::stencil_operator<T>("directional derivative", layout, layout, layout, matrices);
}

/// The product of the gradient and the row of diagonals (v0, v1, ...).
template <Scalar T>
LinearOperator<T> along_field(const Layout& layout, const ConstArrayView<T>& v,
                              const DirectionalDerivativeOptions& options, const char* who) {
  detail::agree_on_plan(who, {&layout, &v.layout()}, dtype_of<T>);
  require(layout.ndim() > 0, "{}: the array has no axes", who);
  const Layout field =
      Layout::stack(std::vector<Layout>(static_cast<std::size_t>(layout.ndim()), layout));
  require(v.layout() == field, "{}: {}", who,
          detail::difference("v needs the layout", field, "is in", v.layout()));
  std::vector<LinearOperator<T>> factors;
  for (int axis = 0; axis < layout.ndim(); ++axis) factors.push_back(diagonal<T>(v.part(axis)));
  return hstack(factors) * gradient<T>(layout, {.sampling = options.sampling,
                                                .edge = options.edge,
                                                .kind = options.kind,
                                                .order = options.order});
}

template <Scalar T>
LinearOperator<T> minus_normal(const LinearOperator<T>& a) {
  return -(adjoint(a) * a);
}

}  // namespace

template <Scalar T>
LinearOperator<T> first_directional_derivative(const Layout& layout, const std::vector<double>& v,
                                               const DirectionalDerivativeOptions& options) {
  return along_constant<T>(layout, v, options, first);
}

template <Scalar T>
LinearOperator<T> first_directional_derivative(const Layout& layout,
                                               const std::type_identity_t<ConstArrayView<T>>& v,
                                               const DirectionalDerivativeOptions& options) {
  return along_field<T>(layout, v, options, first);
}

template <Scalar T>
LinearOperator<T> second_directional_derivative(const Layout& layout, const std::vector<double>& v,
                                                const DirectionalDerivativeOptions& options) {
  return minus_normal(along_constant<T>(layout, v, options, second));
}

template <Scalar T>
LinearOperator<T> second_directional_derivative(const Layout& layout,
                                                const std::type_identity_t<ConstArrayView<T>>& v,
                                                const DirectionalDerivativeOptions& options) {
  return minus_normal(along_field<T>(layout, v, options, second));
}

#define INSTANTIATE(T)                                                                 \
  template LinearOperator<T> first_directional_derivative<T>(                          \
      const Layout&, const std::vector<double>&, const DirectionalDerivativeOptions&); \
  template LinearOperator<T> first_directional_derivative<T>(                          \
      const Layout&, const std::type_identity_t<ConstArrayView<T>>&,                   \
      const DirectionalDerivativeOptions&);                                            \
  template LinearOperator<T> second_directional_derivative<T>(                         \
      const Layout&, const std::vector<double>&, const DirectionalDerivativeOptions&); \
  template LinearOperator<T> second_directional_derivative<T>(                         \
      const Layout&, const std::type_identity_t<ConstArrayView<T>>&,                   \
      const DirectionalDerivativeOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
