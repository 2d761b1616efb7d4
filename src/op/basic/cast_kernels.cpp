#include "op/basic/cast_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

template <class U, class T>
WEFT_FUNCTION U cast_to(T x) {
  if constexpr (std::is_same_v<U, RealOf<U>>) {
    return static_cast<U>(real_of(x));
  } else {
    return convert_to<U>(x);
  }
}

template <class Device, class T, class U, class Update>
void cast_each(Device device, index_t n, const T* x, U* y, Update update) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { update(cast_to<U>(x[i]), y[i]); });
}

}  // namespace

template <class Device, class T, class U>
void axpby_cast(Device device, index_t n, U alpha, const T* x, U beta, U* y) {
  with_update(alpha, beta, [&](auto update) { cast_each(device, n, x, y, update); });
}

#define INSTANTIATE(T, U) template void axpby_cast(WEFT_THIS_DEVICE, index_t, U, const T*, U, U*);
#define INSTANTIATE_PRECISIONS(R, S) \
  INSTANTIATE(R, S)                  \
  INSTANTIATE(R, Complex<S>)         \
  INSTANTIATE(Complex<R>, S)         \
  INSTANTIATE(Complex<R>, Complex<S>)
INSTANTIATE_PRECISIONS(float, double)
INSTANTIATE_PRECISIONS(double, float)
#undef INSTANTIATE_PRECISIONS
#undef INSTANTIATE

}  // namespace weft::kernels
