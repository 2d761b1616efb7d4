#include <weft/op/stencil/gradient.hpp>

#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_options.hpp"
#include "op/stencil/differences.hpp"
#include "op/stencil/stencil_operator.hpp"

#include <fmt/format.h>

namespace weft {

template <Scalar T>
LinearOperator<T> gradient(const Layout& layout, const GradientOptions& options) {
  constexpr const char* who = "gradient";
  detail::agree_on_plan(
      who, {&layout}, dtype_of<T>,
      fmt::format("sampling {}, kind {}, edge {}, order {}", fmt::join(options.sampling, " "),
                  static_cast<int>(options.kind), options.edge, options.order));
  const auto axes = static_cast<std::size_t>(layout.ndim());
  require(axes > 0, "gradient: the array has no axes");
  std::vector<detail::AxisMatrix> matrices;
  for (int axis = 0; axis < layout.ndim(); ++axis) {
    const double sampling = detail::value_for_axis(options.sampling, static_cast<std::size_t>(axis),
                                                   axes, "sampling", who);
    const auto matrix = detail::first_difference(
        layout.shape()[axis], {sampling, options.kind, options.edge, options.order}, who);
    matrices.push_back({axis, matrix, 0, axis});
  }
  const Layout range = Layout::stack(std::vector<Layout>(axes, layout));
  return detail::stencil_operator<T>("gradient", layout, layout, range, matrices);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> gradient<T>(const Layout&, const GradientOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
