#include <weft/op/basic/symmetrize.hpp>

#include <weft/core/error.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_layout.hpp"
#include "op/basic/axis_map.hpp"

#include <fmt/core.h>

#include <limits>

namespace weft {

template <Scalar T>
LinearOperator<T> symmetrize(const Layout& layout, const SymmetrizeOptions& options) {
  detail::agree_on_plan("symmetrize", {&layout}, dtype_of<T>, fmt::format("axis {}", options.axis));
  const int axis = normalize_axis(options.axis, layout.ndim(), "symmetrize");
  const index_t n = layout.shape()[axis];
  if (n <= 1) return identity<T>(layout);
  require(n <= std::numeric_limits<index_t>::max() / 2,
          "symmetrize: 2 n - 1 overflows for axis {} of {}", axis, to_string(layout.shape()));
  return detail::axis_map<T>(fmt::format("symmetrize along axis {}", axis), layout,
                             detail::resize_axis(layout, axis, 2 * n - 1), axis,
                             {{n - 1, 0, n - 1, -1}, {0, n - 1, n}}, false);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> symmetrize<T>(const Layout&, const SymmetrizeOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
