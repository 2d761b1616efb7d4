#include "op/basic/sum_along_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

template <class Device, class T, class Update>
void sum_each(Device device, index_t outer, index_t n, index_t inner, const T* x, T* y,
              Update update) {
  reduce(
      device, outer, n, inner, SumOf<T>{},
      [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
        return SumOf<T>(x[(o * n + i) * inner + k]);
      },
      Add{},
      [=] WEFT_KERNEL(index_t o, index_t k, SumOf<T> sum) {
        update(convert_to<T>(sum), y[o * inner + k]);
      });
}

}  // namespace

template <class Device, class T>
void sum_lines(Device device, index_t outer, index_t n, index_t inner, T alpha, const T* x, T beta,
               T* y) {
  with_update(alpha, beta, [&](auto update) { sum_each(device, outer, n, inner, x, y, update); });
}

#define INSTANTIATE(T) \
  template void sum_lines(WEFT_THIS_DEVICE, index_t, index_t, index_t, T, const T*, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
