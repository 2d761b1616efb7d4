// Runs stencil plans: compiled once for the CPU and once for CUDA, see the two files below.

#include "op/stencil/stencil_kernels.hpp"

#if defined(__CUDACC__)
#include "op/stencil/cuda/stencil_cuda.cuh"
#else
#include "op/stencil/stencil_cpu.hpp"
#endif

namespace weft::kernels {
namespace {

bool is_empty(int axes, const StencilBox& box) {
  for (int axis = 0; axis < axes; ++axis) {
    if (box.begin[axis] >= box.end[axis]) return true;
  }
  return false;
}

}  // namespace

template <class Device, class T>
void apply_stencils(Device device, const StencilPlan<T>& plan, const StencilBox& box, T alpha,
                    T beta) {
  if (is_empty(plan.axes, box)) return;
  with_update(alpha, beta, [&](auto update) { apply(device, plan, box, update); });
}

#define INSTANTIATE(T) \
  template void apply_stencils(WEFT_THIS_DEVICE, const StencilPlan<T>&, const StencilBox&, T, T);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
