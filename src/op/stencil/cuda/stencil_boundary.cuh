#pragma once

// The points of a stencil outside the core on a GPU, and all points of small arrays: a kernel that
// handles special rows and ghost cells. Used by stencil_cuda.cuh.

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "op/stencil/stencil_terms.hpp"

#include <algorithm>
#include <cstdint>

namespace weft::kernels {

inline constexpr unsigned block_threads = 256;
inline constexpr int warp_lanes = 32;
// Set with device_bench: rows "first derivative along axis ..." and "laplacian" for many boundary
// points, "us per iteration of cgls, laplacian of 64^2" for an array of boundary points only.

/// Points of a row per thread: locating a point takes longer than computing it.
inline constexpr int points_per_thread = 8;
/// Threads that occupy a GPU. With fewer, each thread computes one point.
inline constexpr index_t target_threads = 1 << 16;

inline index_t ceil_divide(index_t n, index_t each) { return (n + each - 1) / each; }

/// A box without the core inside it, as two boxes per axis: before and after the core along that
/// axis, with the extents of the core along earlier axes and those of the box along later ones.
struct Boundary {
  StencilBox box;
  StencilBox core;
  // For each of these boxes: log2 of the threads that share a piece of a row, with adjacent points
  // on adjacent threads; the pieces per row; and all threads.
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

/// Division in 32 bits if operands fit, which is several times faster.
__device__ inline index_t divide(index_t a, index_t b) {
  if ((a | b) >> 32 != 0) return a / b;
  return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}

/// Adds a term at a point whose position along the term's axis is i. Issues all loads before using
/// any: on small arrays nothing else hides their latency.
template <int reach, class T>
__device__ void add_term_unrolled(const StencilTerms<T>& plan, const StencilTerm<T>& term,
                                  index_t point, index_t i, T& sum) {
  constexpr int width = 2 * reach + 1;
  RealOf<T> weights[width];
  const bool in_between = term.first + i >= term.head && term.first + i < term.tail;
  const RealOf<T>* row = row_at(term, i);
#pragma unroll
  for (int k = 0; k < width; ++k) {
    weights[k] = in_between ? term.interior[stencil_reach + k - reach] : row[k - reach];
  }
  const index_t extent = plan.extents[term.axis];
  const T* x = plan.x[term.input] + point;
  T elements[width];
#pragma unroll
  for (int k = 0; k < width; ++k) {
    const int d = k - reach;
    const bool is_read = weights[k] != 0 && i + d >= 0 && i + d < extent;
    elements[k] = is_read ? x[d * plan.strides[term.axis]] : T{};
  }
  if (i < reach || i >= extent - reach) {
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const int d = k - reach;
      if (weights[k] == 0 || (i + d >= 0 && i + d < extent)) continue;
      elements[k] = *neighbour(plan, term, point, i, d);
    }
  }
#pragma unroll
  for (int k = 0; k < width; ++k) sum += weights[k] * elements[k];
}

/// Not inlined: rarely called, and the kernel is large.
template <class T>
__device__ __noinline__ T term_at(const StencilTerms<T>& plan, const StencilTerm<T>& term,
                                  index_t point, index_t i) {
  T sum{};
  add_term(plan, term, point, i, sum);
  return sum;
}

/// Adds a term at `count` points of a row that are `step` apart. The first is at position i along
/// the term's axis.
template <int max_points, int reach, class T>
__device__ void add_term_to_points(const StencilTerms<T>& plan, const StencilTerm<T>& term,
                                   index_t point, index_t i, int step, int count,
                                   T (&sums)[max_points]) {
  if constexpr (max_points == 1) return add_term_unrolled<reach>(plan, term, point, i, sums[0]);
  if (term.axis < plan.axes - 1) {
    const RealOf<T>* row = row_at(term, i);
#pragma unroll
    for (int d = -reach; d <= reach; ++d) {
      const RealOf<T> weight = row[d];
      if (weight == 0) continue;
      const T* x = neighbour(plan, term, point, i, d);
#pragma unroll
      for (int j = 0; j < max_points; ++j) {
        if (j < count) sums[j] += weight * x[j * step];
      }
    }
    return;
  }
  const T* x = plan.x[term.input] + point;
#pragma unroll
  for (int j = 0; j < max_points; ++j) {
    const index_t place = i + j * step;
    const index_t row = term.first + place;
    if (j >= count) continue;
    if (row < term.head || row >= term.tail || place < reach ||
        place >= plan.extents[term.axis] - reach) {
      sums[j] += term_at(plan, term, point + j * step, place);
      continue;
    }
#pragma unroll
    for (int d = -reach; d <= reach; ++d) {
      const RealOf<T> weight = term.interior[stencil_reach + d];
      if (weight != 0) sums[j] += weight * x[j * step + d];
    }
  }
}

template <int max_points, int reach, class T, class Update>
__global__ void __launch_bounds__(block_threads)
    boundary_kernel(const __grid_constant__ StencilTerms<T> plan,
                    const __grid_constant__ Boundary boundary, index_t count, Update update) {
  index_t rest = static_cast<index_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (rest >= count) return;
  int part = 0;
  while (rest >= boundary.threads[part]) rest -= boundary.threads[part++];
  const int last = plan.axes - 1;
  const int step = 1 << boundary.lanes_log2[part];
  const index_t lane = rest & (step - 1);
  rest >>= boundary.lanes_log2[part];
  index_t at[max_dims];
  index_t point = 0;
  int points = 0;
  for (int axis = last; axis >= 0; --axis) {
    const index_t begin = boundary.begin(part, axis);
    const index_t end = boundary.end(part, axis);
    const index_t each = axis == last ? step * max_points : 1;
    const index_t pieces = axis == last ? boundary.pieces[part] : end - begin;
    const index_t before = axis == 0 ? 0 : divide(rest, pieces);
    at[axis] = begin + (rest - before * pieces) * each;
    if (axis == last) {
      at[axis] += lane;
      points = static_cast<int>(
          min((end - at[axis] + step - 1) >> boundary.lanes_log2[part], index_t{max_points}));
    }
    rest = before;
    point += at[axis] * plan.strides[axis];
  }
  if (points <= 0) return;  // beyond the end of the row
  for (int output = 0; output < plan.outputs; ++output) {
    T sums[max_points] = {};
    for (int t = 0; t < plan.terms; ++t) {
      const StencilTerm<T>& term = plan.term[t];
      if (term.output != output) continue;
      add_term_to_points<max_points, reach>(plan, term, point, at[term.axis], step, points, sums);
    }
    T* y = plan.y[output] + point;
#pragma unroll
    for (int j = 0; j < max_points; ++j) {
      if (j < points) update(sums[j], y[j * step]);
    }
  }
}

/// Computes a boundary with at most max_points points per thread.
template <int max_points, int reach, class T, class Update>
void launch_boundary(Cuda device, const StencilTerms<T>& plan, Boundary boundary, Update update) {
  const int last = plan.axes - 1;
  index_t count = 0;
  for (int part = 0; part < 2 * plan.axes; ++part) {
    const auto length = [&](int axis) {
      return boundary.end(part, axis) - boundary.begin(part, axis);
    };
    index_t lanes = 1;
    while (lanes < warp_lanes && lanes < length(last)) {
      lanes *= 2;
      ++boundary.lanes_log2[part];
    }
    boundary.pieces[part] = ceil_divide(length(last), lanes * max_points);
    boundary.threads[part] = lanes * boundary.pieces[part];
    for (int axis = 0; axis < last; ++axis) boundary.threads[part] *= length(axis);
    count += boundary.threads[part];
  }
  boundary_kernel<max_points, reach>
      <<<static_cast<unsigned>(ceil_divide(count, block_threads)), block_threads, 0,
         detail::stream_of(device)>>>(plan, boundary, count, update);
  detail::check_cuda_launch();
}

/// Computes the points of a box that are not in the core, which may be empty.
template <class T, class Update>
void compute_boundary(Cuda device, const StencilTerms<T>& plan, const StencilBox& box,
                      const StencilBox& core, Update update) {
  const auto points_in = [&plan](const StencilBox& b) {
    index_t points = 1;
    for (int axis = 0; axis < plan.axes; ++axis) points *= b.end[axis] - b.begin[axis];
    return points;
  };
  const index_t points = points_in(box) - points_in(core);
  if (points == 0) return;
  const Boundary boundary{box, core, {}, {}, {}};
  const bool is_wide =
      std::any_of(plan.term, plan.term + plan.terms,
                  [](const StencilTerm<T>& term) { return term.reach > narrow_reach; });
  const bool is_small = points < points_per_thread * target_threads;
  if (is_small && is_wide) return launch_boundary<1, stencil_reach>(device, plan, boundary, update);
  if (is_small) return launch_boundary<1, narrow_reach>(device, plan, boundary, update);
  if (is_wide)
    return launch_boundary<points_per_thread, stencil_reach>(device, plan, boundary, update);
  launch_boundary<points_per_thread, narrow_reach>(device, plan, boundary, update);
}

}  // namespace weft::kernels
