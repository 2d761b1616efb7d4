#pragma once

// The points around the core of a stencil on a GPU, one for each thread; for stencil_walks.cuh
// only.

#include <weft/core/for_each.hpp>

#include "array/update_math.hpp"
#include "op/stencil_math.hpp"

#include <cstdint>

namespace weft::kernels {

inline constexpr unsigned block_threads = 256;

inline index_t parts_of(index_t n, index_t each) { return (n + each - 1) / each; }

/// A box without the core inside of it, as two boxes for each axis: those before and after the core
/// along it, which are as wide as the core along the axes before it and as the box along others.
struct Rim {
  StencilBox box;
  StencilBox core;
  index_t points[2 * max_dims];
};

/// In 32 bits where they suffice, which is several times faster.
__device__ inline index_t divide(index_t a, index_t b) {
  if ((a | b) >> 32 != 0) return a / b;
  return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}

template <class T, class Put>
__global__ void __launch_bounds__(block_threads)
    rim_kernel(const __grid_constant__ StencilPlan<T> plan, const __grid_constant__ Rim rim,
               index_t count, Put put) {
  index_t rest = static_cast<index_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (rest >= count) return;
  int part = 0;
  while (rest >= rim.points[part]) rest -= rim.points[part++];
  const int cut = part / 2;
  index_t at[max_dims];
  index_t point = 0;
  for (int axis = plan.axes - 1; axis >= 0; --axis) {
    index_t begin = axis < cut ? rim.core.begin[axis] : rim.box.begin[axis];
    index_t end = axis < cut ? rim.core.end[axis] : rim.box.end[axis];
    if (axis == cut && part % 2 == 0) end = rim.core.begin[axis];
    if (axis == cut && part % 2 == 1) begin = rim.core.end[axis];
    const index_t before = divide(rest, end - begin);
    at[axis] = begin + rest - before * (end - begin);
    rest = before;
    point += at[axis] * plan.strides[axis];
  }
  for (int output = 0; output < plan.outputs; ++output) {
    T sum{};
    for (int t = 0; t < plan.terms; ++t) {
      const StencilTerm<T>& term = plan.term[t];
      if (term.output == output) add_term(plan, term, point, at[term.axis], sum);
    }
    put(sum, plan.y[output][point]);
  }
}

/// The points of a box that are not in the core, which may be empty.
template <class T, class Put>
void visit_rim(Cuda device, const StencilPlan<T>& plan, const StencilBox& box,
               const StencilBox& core, Put put) {
  Rim rim{box, core, {}};
  index_t count = 0;
  for (int cut = 0; cut < plan.axes; ++cut) {
    index_t others = 1;
    for (int axis = 0; axis < plan.axes; ++axis) {
      if (axis < cut) others *= core.end[axis] - core.begin[axis];
      if (axis > cut) others *= box.end[axis] - box.begin[axis];
    }
    rim.points[2 * cut] = others * (core.begin[cut] - box.begin[cut]);
    rim.points[2 * cut + 1] = others * (box.end[cut] - core.end[cut]);
    count += rim.points[2 * cut] + rim.points[2 * cut + 1];
  }
  if (count == 0) return;
  rim_kernel<<<static_cast<unsigned>(parts_of(count, block_threads)), block_threads, 0,
               detail::stream_of(device)>>>(plan, rim, count, put);
  detail::check_cuda_launch();
}

}  // namespace weft::kernels
