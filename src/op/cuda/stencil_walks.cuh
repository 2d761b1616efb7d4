#pragma once

// Stencils on a GPU, for stencil_kernels.cpp only. Blocks of threads walk through the core of the
// array, where all points have the same taps; a second kernel computes the points around it.

#include <weft/core/for_each.hpp>

#include "array/update_math.hpp"
#include "op/stencil_math.hpp"

#include <algorithm>
#include <type_traits>

namespace weft::kernels {

inline constexpr unsigned block_threads = 256;
/// Blocks that keep a GPU busy, with enough of them for the last ones to end together.
inline constexpr index_t enough_blocks = 8192;
/// Steps of a walk at most; what two walks share is read twice.
inline constexpr index_t longest_walk = 16;
/// How many steps ahead of its use an element is fetched into the cache.
inline constexpr index_t steps_ahead = 3;
/// More than the Laplacian of five axes has across the last one.
inline constexpr int most_taps = 9;
/// A core of fewer points is not worth a kernel of its own.
inline constexpr index_t smallest_core = 1 << 14;

/// Places along an axis.
struct Lane {
  index_t length = 1;
  index_t stride = 0;
};

/// How blocks go over the core. Threads of a block lie along the last axis, each with a pack of
/// elements, and in several rows along the axis before it. The block walks along the axis before
/// that one, so that what a step shares with the next is in the cache still; where no stencil lies
/// along that axis, it walks along the rows.
struct Walks {
  index_t origin;  // of the core, without the last axis
  index_t begin;   // and its places along that
  index_t end;
  index_t extent;  // of the array there
  Lane rows;
  Lane steps;
  bool along_rows;
  int outer_axes;
  Lane outer[max_dims];
  unsigned column_blocks;
  unsigned row_blocks;
  unsigned walks;
  index_t walk_length;
};

/// What a kernel computes at once: the taps of some outputs, in an order that is known to the
/// compiler, so that they are operands of instructions and need no loads.
template <class T, int outputs, int taps>
struct CoreStencil {
  struct Output {
    T* y;
    int across;
    const T* from[taps];
    RealOf<T> weight[taps];
    const T* along_from;  // null: nothing lies along the last axis
    RealOf<T> along[stencil_width];
    int reach_before;
    int reach_after;
  };
  Output output[outputs];
  int inputs;
  const T* input[taps];
};

/// Elements that nothing writes while the kernel runs: the compiler may load them early.
template <class T>
__device__ void load(const T* from, T (&to)[1]) {
  to[0] = *from;
}
template <class T, int width>
__device__ void load(const T* from, T (&to)[width]) {
  const int4 bits = __ldg(reinterpret_cast<const int4*>(from));
  const auto& pack = reinterpret_cast<const detail::Pack<T>&>(bits);
#pragma unroll
  for (int j = 0; j < width; ++j) to[j] = pack.at[j];
}

template <class T>
__device__ void prefetch(const T* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/// Adds the taps across the last axis.
template <int taps, class Output, class T, int width>
__device__ void add_across(const Output& output, index_t point, T (&sums)[width]) {
  T values[taps][width];
#pragma unroll
  for (int t = 0; t < taps; ++t) {
    if (t < output.across) load(output.from[t] + point, values[t]);
  }
#pragma unroll
  for (int t = 0; t < taps; ++t) {
    if (t >= output.across) continue;
#pragma unroll
    for (int j = 0; j < width; ++j) sums[j] += output.weight[t] * values[t][j];
  }
}

/// Adds the taps along the last axis. An element with too few neighbours, near the edge, gets a
/// value that means nothing.
template <class Output, class T, int width>
__device__ void add_along(const Output& output, index_t point, index_t k, index_t extent,
                          T (&sums)[width]) {
  const T* x = output.along_from + point;
  T middle[width];
  load(x, middle);
  T window[stencil_reach + width + stencil_reach] = {};
#pragma unroll
  for (int j = 0; j < width; ++j) window[stencil_reach + j] = middle[j];
#pragma unroll
  for (int d = 1; d <= stencil_reach; ++d) {
    if (d <= output.reach_before && k >= d) window[stencil_reach - d] = x[-d];
    if (d <= output.reach_after && k + width - 1 + d < extent)
      window[stencil_reach + width - 1 + d] = x[width - 1 + d];
  }
#pragma unroll
  for (int d = -stencil_reach; d <= stencil_reach; ++d) {
    const RealOf<T> weight = output.along[stencil_reach + d];
    if (weight == 0) continue;
#pragma unroll
    for (int j = 0; j < width; ++j) sums[j] += weight * window[stencil_reach + j + d];
  }
}

/// Puts the elements of a pack that are between k = begin and k = end.
template <class T, int width, class Put>
__device__ void store(const T (&values)[width], T* y, index_t k, index_t begin, index_t end,
                      Put put) {
  if (width > 1 && k >= begin && k + width <= end) {
    auto& target = *reinterpret_cast<detail::Pack<T>*>(y);
    detail::Pack<T> pack;
    if constexpr (std::is_same_v<Put, Blended<T>>) pack = target;
#pragma unroll
    for (int j = 0; j < width; ++j) put(values[j], pack.at[j]);
    target = pack;
    return;
  }
#pragma unroll
  for (int j = 0; j < width; ++j) {
    if (k + j >= begin && k + j < end) put(values[j], y[j]);
  }
}

template <int outputs, int taps, int width, class T, class Put>
__global__ void __launch_bounds__(block_threads)
    walk_kernel(const __grid_constant__ CoreStencil<T, outputs, taps> stencil,
                const __grid_constant__ Walks walks, Put put) {
  unsigned rest = blockIdx.x;
  const auto next = [&](unsigned count) {
    const unsigned number = rest % count;
    rest /= count;
    return static_cast<index_t>(number);
  };
  const index_t column = next(walks.column_blocks) * blockDim.x + threadIdx.x;
  const index_t k = (walks.begin / width + column) * width;
  const index_t row = next(walks.row_blocks) * blockDim.y + threadIdx.y;
  index_t step = next(walks.walks) * walks.walk_length;
  const index_t end = min(walks.steps.length, step + walks.walk_length);
  if (k >= walks.end) return;
  index_t point = walks.origin + k;
  if (walks.along_rows) {
    step += threadIdx.y;
  } else {
    if (row >= walks.rows.length) return;
    point += row * walks.rows.stride;
  }
  for (int axis = 0; axis < walks.outer_axes; ++axis) {
    point += next(static_cast<unsigned>(walks.outer[axis].length)) * walks.outer[axis].stride;
  }
  point += step * walks.steps.stride;
  const unsigned stride = walks.along_rows ? blockDim.y : 1;
  const index_t ahead = stride * walks.steps.stride;
#pragma unroll 1
  for (; step < end; step += stride, point += ahead) {
    if (step + steps_ahead * stride < end) {
#pragma unroll
      for (int i = 0; i < taps; ++i) {
        if (i < stencil.inputs) prefetch(stencil.input[i] + point + steps_ahead * ahead);
      }
    }
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      const auto& output = stencil.output[i];
      T sums[width] = {};
      add_across<taps>(output, point, sums);
      if (output.along_from != nullptr) add_along(output, point, k, walks.extent, sums);
      store(sums, output.y + point, k, walks.begin, walks.end, put);
    }
  }
}

/// A box without the core inside of it, as two boxes for each axis: those before and after the core
/// along it, which are as wide as the core along the axes before it and as the box along others.
struct Rim {
  StencilBox box;
  StencilBox core;
  index_t points[2 * max_dims];
};

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
    at[axis] = begin + rest % (end - begin);
    rest /= end - begin;
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

inline index_t parts_of(index_t n, index_t each) { return (n + each - 1) / each; }

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

/// Rows begin and end at packs.
template <class T>
bool is_packed(const StencilPlan<T>& plan) {
  bool packed = plan.extents[plan.axes - 1] % detail::Pack<T>::width == 0;
  for (int i = 0; i < plan.inputs; ++i) packed = packed && detail::is_aligned(plan.x[i]);
  for (int i = 0; i < plan.outputs; ++i) packed = packed && detail::is_aligned(plan.y[i]);
  return packed;
}

/// The outputs from `first` on.
template <int outputs, int taps, class T>
CoreStencil<T, outputs, taps> core_stencil(const StencilPlan<T>& plan, int first) {
  CoreStencil<T, outputs, taps> stencil{};
  for (int i = 0; i < outputs; ++i) {
    auto& output = stencil.output[i];
    const StencilTap<T>* tap = plan.tap + (first + i) * plan.taps;
    output.y = plan.y[first + i];
    output.across = plan.across[first + i];
    for (int t = 0; t < output.across; ++t) {
      output.from[t] = tap[t].from;
      output.weight[t] = tap[t].weight;
    }
    for (int t = 0; t < plan.terms; ++t) {
      const StencilTerm<T>& term = plan.term[t];
      if (term.axis != plan.axes - 1 || term.output != first + i) continue;
      output.along_from = plan.x[term.input];
      std::copy_n(term.interior, stencil_width, output.along);
      output.reach_before = static_cast<int>(term.reach_before);
      output.reach_after = static_cast<int>(term.reach_after);
    }
  }
  stencil.inputs = std::min(plan.inputs, taps);
  std::copy_n(plan.x, stencil.inputs, stencil.input);
  return stencil;
}

template <int outputs, int taps, int width, class T, class Put>
void walk(Cuda device, const StencilPlan<T>& plan, const StencilBox& core, int first, Put put) {
  const int last = plan.axes - 1;
  const auto has_stencil = [&](int axis) {
    return std::any_of(plan.term, plan.term + plan.terms,
                       [=](const StencilTerm<T>& term) { return term.axis == axis; });
  };
  const auto lane_of = [&](int axis) {
    return Lane{core.end[axis] - core.begin[axis], plan.strides[axis]};
  };
  Walks walks{};
  walks.begin = core.begin[last];
  walks.end = core.end[last];
  walks.extent = plan.extents[last];
  for (int axis = 0; axis < last; ++axis) walks.origin += core.begin[axis] * plan.strides[axis];
  walks.along_rows = last < 2 || !has_stencil(last - 2);
  if (!walks.along_rows) walks.rows = lane_of(last - 1);
  const int walk_axis = walks.along_rows ? last - 1 : last - 2;
  walks.steps = walk_axis < 0 ? Lane{} : lane_of(walk_axis);
  for (int axis = walk_axis - 1; axis >= 0; --axis) {
    walks.outer[walks.outer_axes++] = lane_of(axis);
  }

  // Where rows share neighbours, a block is a square of them rather than a line.
  const index_t packs = parts_of(walks.end, width) - walks.begin / width;
  unsigned columns = walks.along_rows ? block_threads : 32;
  while (columns > 1 && static_cast<index_t>(columns) / 2 >= packs) columns /= 2;
  const dim3 block(columns, walk_axis < 0 ? 1 : block_threads / columns);
  const index_t stride = walks.along_rows ? block.y : 1;

  walks.column_blocks = static_cast<unsigned>(parts_of(packs, columns));
  walks.row_blocks = static_cast<unsigned>(parts_of(walks.rows.length, block.y));
  index_t blocks = static_cast<index_t>(walks.column_blocks) * walks.row_blocks;
  for (int axis = 0; axis < walks.outer_axes; ++axis) blocks *= walks.outer[axis].length;
  const index_t steps = parts_of(walks.steps.length, stride);
  const index_t length = std::clamp(blocks * steps / enough_blocks, index_t{1}, longest_walk);
  walks.walk_length = length * stride;
  walks.walks = static_cast<unsigned>(parts_of(steps, length));
  blocks *= walks.walks;
  walk_kernel<outputs, taps, width>
      <<<static_cast<unsigned>(blocks), block, 0, detail::stream_of(device)>>>(
          core_stencil<outputs, taps>(plan, first), walks, put);
  detail::check_cuda_launch();
}

/// Outputs that read the same elements are computed together, up to three.
template <int width, class T, class Put>
void walk_outputs(Cuda device, const StencilPlan<T>& plan, const StencilBox& core, Put put) {
  const int taps = *std::max_element(plan.across, plan.across + plan.outputs);
  for (int first = 0; first < plan.outputs;) {
    const int left = plan.outputs - first;
    if (taps > 5) {
      walk<1, most_taps, width>(device, plan, core, first++, put);
    } else if (taps > 2 || left == 1) {
      walk<1, 5, width>(device, plan, core, first++, put);
    } else if (left == 2) {
      walk<2, 2, width>(device, plan, core, first, put);
      first += 2;
    } else {
      walk<3, 2, width>(device, plan, core, first, put);
      first += 3;
    }
  }
}

template <class T, class Put>
void apply(Cuda device, const StencilPlan<T>& plan, const StencilBox& box, Put put) {
  StencilBox core{};
  index_t points = 1;
  for (int axis = 0; axis < plan.axes; ++axis) {
    core.begin[axis] = std::clamp(plan.core_begin[axis], box.begin[axis], box.end[axis]);
    core.end[axis] = std::clamp(plan.core_end[axis], core.begin[axis], box.end[axis]);
    points *= core.end[axis] - core.begin[axis];
  }
  if (points < smallest_core ||
      *std::max_element(plan.across, plan.across + plan.outputs) > most_taps) {
    core.begin[0] = core.end[0] = box.end[0];
    return visit_rim(device, plan, box, core, put);
  }
  if (is_packed(plan)) {
    walk_outputs<detail::Pack<T>::width>(device, plan, core, put);
  } else {
    walk_outputs<1>(device, plan, core, put);
  }
  visit_rim(device, plan, box, core, put);
}

}  // namespace weft::kernels
