#include <weft/op/stencil/first_derivative.hpp>

#include "array/plan_agreement.hpp"
#include "op/stencil/differences.hpp"
#include "op/stencil/stencil_operator.hpp"

#include <fmt/core.h>

namespace weft {

template <Scalar T>
LinearOperator<T> first_derivative(const Layout& layout, const FirstDerivativeOptions& options) {
  constexpr const char* who = "first_derivative";
  detail::agree_on_plan(
      who, {&layout}, dtype_of<T>,
      fmt::format("axis {}, sampling {}, kind {}, edge {}, order {}", options.axis,
                  options.sampling, static_cast<int>(options.kind), options.edge, options.order));
  const int axis = normalize_axis(options.axis, layout.ndim(), who);
  const auto matrix = detail::first_difference(
      layout.shape()[axis], {options.sampling, options.kind, options.edge, options.order}, who);
  return detail::stencil_operator<T>(fmt::format("first derivative along axis {}", axis), layout,
                                     layout, layout, {{axis, matrix}});
}

#define INSTANTIATE(T) \
  template LinearOperator<T> first_derivative<T>(const Layout&, const FirstDerivativeOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
