#include <weft/op/basic/roll.hpp>

#include <weft/op/basic/identity.hpp>

#include "array/plan_agreement.hpp"
#include "op/basic/axis_map.hpp"

#include <fmt/core.h>

namespace weft {

template <Scalar T>
LinearOperator<T> roll(const Layout& layout, const RollOptions& options) {
  detail::agree_on_plan("roll", {&layout}, dtype_of<T>,
                        fmt::format("axis {}, shift {}", options.axis, options.shift));
  const int axis = normalize_axis(options.axis, layout.ndim(), "roll");
  const index_t n = layout.shape()[axis];
  if (n == 0) return identity<T>(layout);
  const index_t shift = (options.shift % n + n) % n;
  if (shift == 0) return identity<T>(layout);
  return detail::axis_map<T>(fmt::format("roll by {} along axis {}", options.shift, axis), layout,
                             layout, axis, {{0, shift, n - shift}, {n - shift, 0, shift}}, true);
}

#define INSTANTIATE(T) template LinearOperator<T> roll<T>(const Layout&, const RollOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
