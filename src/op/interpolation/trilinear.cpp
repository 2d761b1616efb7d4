#include <weft/op/interpolation/trilinear.hpp>

#include "op/interpolation/multilinear.hpp"

namespace weft {

template <Scalar T>
LinearOperator<T> trilinear(const Layout& layout,
                            std::span<const std::array<double, 3>> positions) {
  return detail::multilinear<T>(
      layout, {positions.empty() ? nullptr : positions.data()->data(), 3 * positions.size()}, 3,
      "trilinear");
}

#define INSTANTIATE(T) \
  template LinearOperator<T> trilinear<T>(const Layout&, std::span<const std::array<double, 3>>);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
