#pragma once

// Fills arrays on a GPU with a functor, in programs that nvcc compiles; see ArrayView::fill.

#include <weft/kernel/cuda/for_each.cuh>
#include <weft/kernel/dispatch.hpp>

#include <type_traits>

namespace weft::detail {

/// F is a lambda marked __host__ __device__, which a GPU can call.
template <class F>
inline constexpr bool runs_on_gpu = __nv_is_extended_host_device_lambda_closure_type(F);

template <class T, class F>
struct FillElement {
  Box box;
  T* data;
  F f;

  __device__ void operator()(index_t i) const {
    Index at = box.offset;
    index_t rest = i;
    for (int axis = at.ndim() - 1; axis >= 0; --axis) {
      const index_t extent = box.shape[axis];
      at[axis] += rest % extent;
      rest /= extent;
    }
    data[i] = element<T>(f(static_cast<const Index&>(at)));
  }
};

template <class T, class F>
void fill_on_gpu(Device device, const Box& box, index_t count, T* data, F f) {
  for_each(cuda_tag(device), count, FillElement<T, F>{box, data, f});
}

}  // namespace weft::detail
