#include "op/convolution/moving_sum_kernels.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#if !defined(__CUDACC__)
#include "op/convolution/moving_sum_cpu.hpp"
#endif

namespace weft::kernels {

#if defined(__CUDACC__)
namespace {

template <class T, class Update>
void sum_each(Cuda device, index_t outer, index_t n, index_t inner, index_t reach, RealOf<T> scale,
              FilterInput<T> input, T* y, Update update) {
  for_each(device, outer, n, inner, [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    T sum{};
    for (index_t at = i - reach; at <= i + reach; ++at) {
      if (at < -input.before || at >= n + input.after) continue;
      const T* line = at < 0    ? input.ghosts_before + (o + 1) * input.before * inner
                      : at >= n ? input.ghosts_after + (o * input.after - n) * inner
                                : input.x + o * n * inner;
      sum += line[at * inner + k];
    }
    update(scale * sum, y[(o * n + i) * inner + k]);
  });
}

}  // namespace
#endif

template <class Device, class T>
void moving_sum(Device device, index_t outer, index_t n, index_t inner, index_t reach,
                RealOf<T> scale, T alpha, FilterInput<T> input, T beta, T* y) {
  if (outer * n * inner == 0) return;
  with_update(alpha, beta, [&](auto update) {
#if defined(__CUDACC__)
    sum_each(device, outer, n, inner, reach, scale, input, y, update);
#else
    static_cast<void>(device);
    MovingSums<T, decltype(update)>(outer, n, inner, reach, scale, input, y, update).run();
#endif
  });
}

#define INSTANTIATE(T)                                                                         \
  template void moving_sum(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t, RealOf<T>, T, \
                           FilterInput<T>, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
