#include <weft/op/basic/flip.hpp>

#include <weft/op/basic/identity.hpp>

#include "array/plan_agreement.hpp"
#include "op/basic/axis_map.hpp"

#include <fmt/core.h>

namespace weft {

template <Scalar T>
LinearOperator<T> flip(const Layout& layout, const FlipOptions& options) {
  detail::agree_on_plan("flip", {&layout}, dtype_of<T>, fmt::format("axis {}", options.axis));
  const int axis = normalize_axis(options.axis, layout.ndim(), "flip");
  const index_t n = layout.shape()[axis];
  if (n <= 1) return identity<T>(layout);
  return detail::axis_map<T>(fmt::format("flip along axis {}", axis), layout, layout, axis,
                             {{n - 1, 0, n, -1}}, true);
}

#define INSTANTIATE(T) template LinearOperator<T> flip<T>(const Layout&, const FlipOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
