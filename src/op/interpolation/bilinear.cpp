#include <weft/op/interpolation/bilinear.hpp>

#include "op/interpolation/multilinear.hpp"

namespace weft {

template <Scalar T>
LinearOperator<T> bilinear(const Layout& layout, std::span<const std::array<double, 2>> positions) {
  return detail::multilinear<T>(
      layout, {positions.empty() ? nullptr : positions.data()->data(), 2 * positions.size()}, 2,
      "bilinear");
}

#define INSTANTIATE(T) \
  template LinearOperator<T> bilinear<T>(const Layout&, std::span<const std::array<double, 2>>);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
