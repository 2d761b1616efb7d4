// Compiled once per device: by the C++ compiler for the CPU and by nvcc for the GPU.

#include "taper_kernels.hpp"

#include <weft/kernel/for_each.hpp>

namespace kernels {

template <class Device, class T>
void taper(Device device, weft::index_t outer, weft::index_t n, weft::index_t inner,
           weft::index_t first, weft::index_t total, weft::index_t ramp, T* x) {
  weft::for_each(
      device, outer, n, inner, [=] WEFT_KERNEL(weft::index_t o, weft::index_t i, weft::index_t k) {
        const weft::index_t from_start = first + i;
        const weft::index_t from_end = total - 1 - from_start;
        const weft::index_t nearest = from_start < from_end ? from_start : from_end;
        const T weight = nearest < ramp ? static_cast<T>(nearest) / static_cast<T>(ramp) : T{1};
        x[(o * n + i) * inner + k] *= weight;
      });
}

#define INSTANTIATE(T)                                                               \
  template void taper(WEFT_THIS_DEVICE, weft::index_t, weft::index_t, weft::index_t, \
                      weft::index_t, weft::index_t, weft::index_t, T*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
