#pragma once

// The points around the core of a stencil on a GPU; for stencil_cuda.cuh only.

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "op/stencil/stencil_terms.hpp"

#include <cstdint>

namespace weft::kernels {

inline constexpr unsigned block_threads = 256;
inline constexpr int warp_lanes = 32;
/// Points of a row that a thread computes: to find out where one is takes longer than to compute
/// it.
inline constexpr int points_of_thread = 8;
/// Threads that keep a GPU busy. Where there would be fewer, each computes one point.
inline constexpr index_t enough_threads = 1 << 16;

inline index_t parts_of(index_t n, index_t each) { return (n + each - 1) / each; }

/// A box without the core inside of it, as two boxes for each axis: those before and after the core
/// along it, which are as wide as the core along the axes before it and as the box along others.
struct Rim {
  StencilBox box;
  StencilBox core;
  // Of each box: the threads that share a piece of a row, neighbours having neighbouring points,
  // as a power of two; the pieces of a row; and all threads.
  int lanes_log2[2 * max_dims];
  index_t pieces[2 * max_dims];
  index_t threads[2 * max_dims];

  WEFT_FUNCTION index_t begin(int part, int axis) const {
    if (axis < part / 2) return core.begin[axis];
    return axis == part / 2 && part % 2 == 1 ? core.end[axis] : box.begin[axis];
  }
  WEFT_FUNCTION index_t end(int part, int axis) const {
    if (axis < part / 2) return core.end[axis];
    return axis == part / 2 && part % 2 == 0 ? core.begin[axis] : box.end[axis];
  }
};

/// In 32 bits where they suffice, which is several times faster.
__device__ inline index_t divide(index_t a, index_t b) {
  if ((a | b) >> 32 != 0) return a / b;
  return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}

/// Adds a term at a point whose place along the axis of the term is i. Loads are all under way at
/// once: where arrays are small, nothing else hides how long they take.
template <class T>
__device__ void add_term_at_once(const StencilPlan<T>& plan, const StencilTerm<T>& term,
                                 index_t point, index_t i, T& sum) {
  RealOf<T> weights[stencil_width];
  const bool in_between = term.first + i >= term.head && term.first + i < term.tail;
  const RealOf<T>* row = row_at(term, i);
#pragma unroll
  for (int k = 0; k < stencil_width; ++k) weights[k] = in_between ? term.interior[k] : row[k];
  const index_t extent = plan.extents[term.axis];
  const T* x = plan.x[term.input] + point;
  T elements[stencil_width];
#pragma unroll
  for (int k = 0; k < stencil_width; ++k) {
    const int d = k - stencil_reach;
    const bool is_read = weights[k] != 0 && i + d >= 0 && i + d < extent;
    elements[k] = is_read ? x[d * plan.strides[term.axis]] : T{};
  }
  if (i < stencil_reach || i >= extent - stencil_reach) {
#pragma unroll
    for (int k = 0; k < stencil_width; ++k) {
      const int d = k - stencil_reach;
      if (weights[k] == 0 || (i + d >= 0 && i + d < extent)) continue;
      elements[k] = *neighbour(plan, term, point, i, d);
    }
  }
#pragma unroll
  for (int k = 0; k < stencil_width; ++k) sum += weights[k] * elements[k];
}

/// Not inline: rare, and the kernel is large enough.
template <class T>
__device__ __noinline__ T term_at(const StencilPlan<T>& plan, const StencilTerm<T>& term,
                                  index_t point, index_t i) {
  T sum{};
  add_term(plan, term, point, i, sum);
  return sum;
}

/// Adds a term at `count` points of a row, `step` apart, the first of which is at place i along the
/// axis of the term.
template <int most, class T>
__device__ void add_term_to_points(const StencilPlan<T>& plan, const StencilTerm<T>& term,
                                   index_t point, index_t i, int step, int count, T (&sums)[most]) {
  if constexpr (most == 1) return add_term_at_once(plan, term, point, i, sums[0]);
  if (term.axis < plan.axes - 1) {
    const RealOf<T>* row = row_at(term, i);
#pragma unroll
    for (int d = -stencil_reach; d <= stencil_reach; ++d) {
      const RealOf<T> weight = row[stencil_reach + d];
      if (weight == 0) continue;
      const T* x = neighbour(plan, term, point, i, d);
#pragma unroll
      for (int j = 0; j < most; ++j) {
        if (j < count) sums[j] += weight * x[j * step];
      }
    }
    return;
  }
  const T* x = plan.x[term.input] + point;
#pragma unroll
  for (int j = 0; j < most; ++j) {
    const index_t place = i + j * step;
    const index_t row = term.first + place;
    if (j >= count) continue;
    if (row < term.head || row >= term.tail || place < stencil_reach ||
        place >= plan.extents[term.axis] - stencil_reach) {
      sums[j] += term_at(plan, term, point + j * step, place);
      continue;
    }
#pragma unroll
    for (int d = -stencil_reach; d <= stencil_reach; ++d) {
      const RealOf<T> weight = term.interior[stencil_reach + d];
      if (weight != 0) sums[j] += weight * x[j * step + d];
    }
  }
}

template <int most, class T, class Put>
__global__ void __launch_bounds__(block_threads)
    rim_kernel(const __grid_constant__ StencilPlan<T> plan, const __grid_constant__ Rim rim,
               index_t count, Put put) {
  index_t rest = static_cast<index_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (rest >= count) return;
  int part = 0;
  while (rest >= rim.threads[part]) rest -= rim.threads[part++];
  const int last = plan.axes - 1;
  const int step = 1 << rim.lanes_log2[part];
  const index_t lane = rest & (step - 1);
  rest >>= rim.lanes_log2[part];
  index_t at[max_dims];
  index_t point = 0;
  int points = 0;
  for (int axis = last; axis >= 0; --axis) {
    const index_t begin = rim.begin(part, axis);
    const index_t end = rim.end(part, axis);
    const index_t each = axis == last ? step * most : 1;
    const index_t pieces = axis == last ? rim.pieces[part] : end - begin;
    const index_t before = axis == 0 ? 0 : divide(rest, pieces);
    at[axis] = begin + (rest - before * pieces) * each;
    if (axis == last) {
      at[axis] += lane;
      points =
          static_cast<int>(min((end - at[axis] + step - 1) >> rim.lanes_log2[part], index_t{most}));
    }
    rest = before;
    point += at[axis] * plan.strides[axis];
  }
  if (points <= 0) return;  // behind the end of the row
  for (int output = 0; output < plan.outputs; ++output) {
    T sums[most] = {};
    for (int t = 0; t < plan.terms; ++t) {
      const StencilTerm<T>& term = plan.term[t];
      if (term.output != output) continue;
      add_term_to_points(plan, term, point, at[term.axis], step, points, sums);
    }
    T* y = plan.y[output] + point;
#pragma unroll
    for (int j = 0; j < most; ++j) {
      if (j < points) put(sums[j], y[j * step]);
    }
  }
}

/// Computes a rim, with up to so many points for each thread.
template <int most, class T, class Put>
void visit(Cuda device, const StencilPlan<T>& plan, Rim rim, Put put) {
  const int last = plan.axes - 1;
  index_t count = 0;
  for (int part = 0; part < 2 * plan.axes; ++part) {
    const auto length = [&](int axis) { return rim.end(part, axis) - rim.begin(part, axis); };
    index_t lanes = 1;
    while (lanes < warp_lanes && lanes < length(last)) {
      lanes *= 2;
      ++rim.lanes_log2[part];
    }
    rim.pieces[part] = parts_of(length(last), lanes * most);
    rim.threads[part] = lanes * rim.pieces[part];
    for (int axis = 0; axis < last; ++axis) rim.threads[part] *= length(axis);
    count += rim.threads[part];
  }
  rim_kernel<most><<<static_cast<unsigned>(parts_of(count, block_threads)), block_threads, 0,
                     detail::stream_of(device)>>>(plan, rim, count, put);
  detail::check_cuda_launch();
}

/// The points of a box that are not in the core, which may be empty.
template <class T, class Put>
void visit_rim(Cuda device, const StencilPlan<T>& plan, const StencilBox& box,
               const StencilBox& core, Put put) {
  const auto points_in = [&plan](const StencilBox& b) {
    index_t points = 1;
    for (int axis = 0; axis < plan.axes; ++axis) points *= b.end[axis] - b.begin[axis];
    return points;
  };
  const index_t points = points_in(box) - points_in(core);
  if (points == 0) return;
  const Rim rim{box, core, {}, {}, {}};
  if (points < points_of_thread * enough_threads) return visit<1>(device, plan, rim, put);
  visit<points_of_thread>(device, plan, rim, put);
}

}  // namespace weft::kernels
