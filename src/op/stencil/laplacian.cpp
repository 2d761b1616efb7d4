#include <weft/op/stencil/laplacian.hpp>

#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "op/stencil/differences.hpp"
#include "op/stencil/stencil_operator.hpp"

#include <fmt/format.h>

namespace weft {

template <Scalar T>
LinearOperator<T> laplacian(const Layout& layout, const LaplacianOptions& options) {
  constexpr const char* where = "laplacian";
  detail::agree_on_plan(
      where, {&layout}, dtype_of<T>,
      fmt::format("axes {}, sampling {}, weights {}, kind {}, edge {}",
                  fmt::join(options.axes, " "), fmt::join(options.sampling, " "),
                  fmt::join(options.weights, " "), static_cast<int>(options.kind), options.edge));
  const std::size_t count = options.axes.size();
  require(count > 0, "laplacian: no axes given");
  std::vector<detail::AxisMatrix> matrices;
  for (std::size_t i = 0; i < count; ++i) {
    const int axis = normalize_axis(options.axes[i], layout.ndim(), where);
    for (const auto& other : matrices) {
      require(other.axis != axis, "laplacian: axis {} is given twice", axis);
    }
    const double sampling = detail::value_for(options.sampling, i, count, "sampling", where);
    const double weight = detail::value_for(options.weights, i, count, "weights", where);
    matrices.push_back({axis, detail::second_difference(layout.shape()[axis], sampling, weight,
                                                        options.kind, options.edge, where)});
  }
  return detail::stencil_operator<T>("laplacian", layout, layout, layout, matrices);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> laplacian<T>(const Layout&, const LaplacianOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
