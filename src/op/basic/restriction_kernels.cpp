#include "op/basic/restriction_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

template <class Device, class T, class Put>
void take_each(Device device, index_t outer, index_t m, index_t inner, index_t n,
               const index_t* positions, const T* x, T* y, Put put) {
  for_each(device, outer, m, inner, [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    put(x[(o * n + positions[i]) * inner + k], y[(o * m + i) * inner + k]);
  });
}

template <class Device, class T, class Put>
void put_each(Device device, index_t outer, index_t n, index_t inner, index_t m,
              const index_t* sources, const T* y, T* x, Put put) {
  for_each(device, outer, n, inner, [=] WEFT_KERNEL(index_t o, index_t p, index_t k) {
    const index_t source = sources[p];
    put(source < 0 ? T{} : y[(o * m + source) * inner + k], x[(o * n + p) * inner + k]);
  });
}

template <class Device, class T, class Put>
void sum_each(Device device, index_t outer, index_t n, index_t inner, index_t m,
              const index_t* begins, const index_t* sources, const T* y, T* x, Put put) {
  for_each(device, outer, n, inner, [=] WEFT_KERNEL(index_t o, index_t p, index_t k) {
    T sum{};
    for (index_t j = begins[p]; j < begins[p + 1]; ++j) {
      sum += y[(o * m + sources[j]) * inner + k];
    }
    put(sum, x[(o * n + p) * inner + k]);
  });
}

}  // namespace

template <class Device, class T>
void take_along(Device device, index_t outer, index_t m, index_t inner, index_t n,
                const index_t* positions, T alpha, const T* x, T beta, T* y) {
  with_update(alpha, beta,
              [&](auto put) { take_each(device, outer, m, inner, n, positions, x, y, put); });
}

template <class Device, class T>
void put_along(Device device, index_t outer, index_t n, index_t inner, index_t m,
               const index_t* sources, T alpha, const T* y, T beta, T* x) {
  with_update(alpha, beta,
              [&](auto put) { put_each(device, outer, n, inner, m, sources, y, x, put); });
}

template <class Device, class T>
void sum_sources_along(Device device, index_t outer, index_t n, index_t inner, index_t m,
                       const index_t* begins, const index_t* sources, T alpha, const T* y, T beta,
                       T* x) {
  with_update(alpha, beta,
              [&](auto put) { sum_each(device, outer, n, inner, m, begins, sources, y, x, put); });
}

#define INSTANTIATE(T)                                                                             \
  template void put_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t, const index_t*, T, \
                          const T*, T, T*);                                                        \
  template void take_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t, const index_t*,   \
                           T, const T*, T, T*);                                                    \
  template void sum_sources_along(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t,            \
                                  const index_t*, const index_t*, T, const T*, T, T*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
