#include <weft/op/stencil/laplacian.hpp>

#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_options.hpp"
#include "op/stencil/differences.hpp"
#include "op/stencil/stencil_operator.hpp"

#include <fmt/format.h>

namespace weft {

template <Scalar T>
LinearOperator<T> laplacian(const Layout& layout, const LaplacianOptions& options) {
  constexpr const char* who = "laplacian";
  detail::agree_on_plan(who, {&layout}, dtype_of<T>,
                        fmt::format("axes {}, sampling {}, weights {}, kind {}, edge {}, order {}",
                                    fmt::join(options.axes, " "), fmt::join(options.sampling, " "),
                                    fmt::join(options.weights, " "), static_cast<int>(options.kind),
                                    options.edge, options.order));
  const std::vector<int> axes = detail::distinct_axes(options.axes, layout.ndim(), who);
  const std::size_t count = axes.size();
  require(count > 0, "laplacian: got no axes; pass at least one");
  std::vector<detail::AxisMatrix> matrices;
  for (std::size_t i = 0; i < count; ++i) {
    const double sampling = detail::value_for_axis(options.sampling, i, count, "sampling", who);
    const double weight = detail::value_for_axis(options.weights, i, count, "weights", who);
    matrices.push_back(
        {axes[i], detail::second_difference(
                      layout.shape()[axes[i]],
                      {sampling, options.kind, options.edge, options.order, weight}, who)});
  }
  return detail::stencil_operator<T>("laplacian", layout, layout, layout, matrices);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> laplacian<T>(const Layout&, const LaplacianOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
