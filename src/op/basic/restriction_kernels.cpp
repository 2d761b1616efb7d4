#include "op/basic/restriction_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

template <class Device, class T, class Update>
void gather_each(Device device, index_t outer, index_t m, index_t inner, index_t n,
                 const index_t* positions, const T* x, T* y, Update update) {
  for_each(device, outer, m, inner, [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    update(x[(o * n + positions[i]) * inner + k], y[(o * m + i) * inner + k]);
  });
}

template <class Device, class T, class Update>
void scatter_each(Device device, index_t outer, index_t n, index_t inner, index_t m,
                  const index_t* sources, const T* y, T* x, Update update) {
  for_each(device, outer, n, inner, [=] WEFT_KERNEL(index_t o, index_t p, index_t k) {
    const index_t source = sources[p];
    update(source < 0 ? T{} : y[(o * m + source) * inner + k], x[(o * n + p) * inner + k]);
  });
}

template <class Device, class T, class Update>
void scatter_add_each(Device device, index_t outer, index_t n, index_t inner, index_t m,
                      const index_t* begins, const index_t* sources, const T* y, T* x,
                      Update update) {
  for_each(device, outer, n, inner, [=] WEFT_KERNEL(index_t o, index_t p, index_t k) {
    T sum{};
    for (index_t j = begins[p]; j < begins[p + 1]; ++j) {
      sum += y[(o * m + sources[j]) * inner + k];
    }
    update(sum, x[(o * n + p) * inner + k]);
  });
}

}  // namespace

template <class Device, class T>
void gather_along(Device device, index_t outer, index_t m, index_t inner, index_t n,
                  const index_t* positions, T alpha, const T* x, T beta, T* y) {
  with_update(alpha, beta, [&](auto update) {
    gather_each(device, outer, m, inner, n, positions, x, y, update);
  });
}

template <class Device, class T>
void scatter_along(Device device, index_t outer, index_t n, index_t inner, index_t m,
                   const index_t* sources, T alpha, const T* y, T beta, T* x) {
  with_update(alpha, beta, [&](auto update) {
    scatter_each(device, outer, n, inner, m, sources, y, x, update);
  });
}

template <class Device, class T>
void scatter_add_along(Device device, index_t outer, index_t n, index_t inner, index_t m,
                       const index_t* begins, const index_t* sources, T alpha, const T* y, T beta,
                       T* x) {
  with_update(alpha, beta, [&](auto update) {
    scatter_add_each(device, outer, n, inner, m, begins, sources, y, x, update);
  });
}

#define INSTANTIATE(T)                                                                             \
  template void scatter_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t,                \
                              const index_t*, T, const T*, T, T*);                                 \
  template void gather_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t, const index_t*, \
                             T, const T*, T, T*);                                                  \
  template void scatter_add_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t,            \
                                  const index_t*, const index_t*, T, const T*, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
