#include "op/basic/diagonal_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

struct Unchanged {
  template <class T>
  WEFT_FUNCTION T operator()(T value) const {
    return value;
  }
};
struct Conjugated {
  template <class T>
  WEFT_FUNCTION T operator()(T value) const {
    return conj_of(value);
  }
};

template <class Device, class T, class F, class Update>
void multiply_each(Device device, index_t outer, index_t n, index_t inner, const T* d, const T* x,
                   T* y, F factor, Update update) {
  for_each(device, outer, n, inner, [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    const index_t at = (o * n + i) * inner + k;
    update(factor(d[i]) * x[at], y[at]);
  });
}

template <class Device, class T, class F>
void multiply_with(Device device, index_t outer, index_t n, index_t inner, T alpha, const T* d,
                   const T* x, T beta, T* y, F factor) {
  with_update(alpha, beta, [&](auto update) {
    multiply_each(device, outer, n, inner, d, x, y, factor, update);
  });
}

}  // namespace

template <class Device, class T>
void multiply_along(Device device, index_t outer, index_t n, index_t inner, T alpha, const T* d,
                    const T* x, T beta, T* y) {
  multiply_with(device, outer, n, inner, alpha, d, x, beta, y, Unchanged{});
}

template <class Device, class T>
void multiply_conj_along(Device device, index_t outer, index_t n, index_t inner, T alpha,
                         const T* d, const T* x, T beta, T* y) {
  multiply_with(device, outer, n, inner, alpha, d, x, beta, y, Conjugated{});
}

#define INSTANTIATE(T)                                                                             \
  template void multiply_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, T, const T*, const T*, \
                               T, T*);                                                             \
  template void multiply_conj_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, T, const T*,      \
                                    const T*, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
