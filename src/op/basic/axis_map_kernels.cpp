#include "op/basic/axis_map_kernels.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "kernel/kernel_scalars.hpp"

#if !defined(__CUDACC__)
#include "op/basic/axis_map_cpu.hpp"
#endif

namespace weft::kernels {

#if defined(__CUDACC__)

template <class Device, class T>
void copy_runs(Device device, const DirectedRun* runs, index_t count, index_t outer, index_t inner,
               const T* from, index_t from_extent, T* to, index_t to_extent) {
  for (index_t r = 0; r < count; ++r) {
    const DirectedRun run = runs[r];
    for_each(device, outer, run.extent, inner, [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
      to[(o * to_extent + run.to + i) * inner + k] =
          from[(o * from_extent + run.from + i * run.step) * inner + k];
    });
  }
}

#else

template <class Device, class T>
void copy_runs(Device, const DirectedRun* runs, index_t count, index_t outer, index_t inner,
               const T* from, index_t from_extent, T* to, index_t to_extent) {
  RunCopy<T>(runs, count, outer, inner, from, from_extent, to, to_extent).run();
}

#endif

#define INSTANTIATE(T)                                                                     \
  template void copy_runs(WEFT_THIS_DEVICE, const DirectedRun*, index_t, index_t, index_t, \
                          const T*, index_t, T*, index_t);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
