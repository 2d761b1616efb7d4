#pragma once

// Stencils on a GPU: entry point for stencil_kernels.cpp, chooses and launches kernels. Threads
// march through the core of the array, where all points have the same taps (stencil_core.cuh); a
// second kernel computes the points around it (stencil_boundary.cuh).

#include "op/stencil/cuda/stencil_boundary.cuh"
#include "op/stencil/cuda/stencil_core.cuh"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::kernels {

// Set with device_bench, rows "first derivative along axis 0" (1, 2), "laplacian" and "gradient".

/// Blocks that occupy a GPU, enough for the last ones to finish together.
inline constexpr index_t target_blocks = 8192;
/// Maximum steps of a march along an axis with a stencil, where elements between two marches are
/// read twice.
inline constexpr index_t max_march = 32;
/// The same along an axis without a stencil.
inline constexpr index_t max_independent_march = 16;
/// Maximum taps outside the window and across the last axis; a Laplacian of five axes has fewer.
inline constexpr int max_cross_taps = 9;
/// Smaller cores are left to the boundary kernel.
inline constexpr index_t min_core_points = 1 << 14;

/// Whether rows begin and end at boundaries of packs.
template <class T>
bool has_packed_rows(const StencilPlan<T>& plan) {
  bool packed = plan.extents[plan.axes - 1] % detail::Pack<T>::width == 0;
  for (int i = 0; i < plan.inputs; ++i) packed = packed && detail::is_aligned(plan.x[i]);
  for (int i = 0; i < plan.outputs; ++i) packed = packed && detail::is_aligned(plan.y[i]);
  return packed;
}

template <class T>
bool has_stencil(const StencilPlan<T>& plan, int axis) {
  return std::any_of(plan.term, plan.term + plan.terms,
                     [=](const StencilTerm<T>& term) { return term.axis == axis; });
}

/// Threads march across planes, or along the rows if no stencil connects planes.
template <class T>
bool marches_along_rows(const StencilPlan<T>& plan) {
  return plan.axes < 3 || !has_stencil(plan, plan.axes - 3);
}

/// The axis of the march; negative for an array of one axis.
template <class T>
int march_axis_of(const StencilPlan<T>& plan) {
  return plan.axes - (marches_along_rows(plan) ? 2 : 3);
}

/// Maximum steps of a march for which 32-bit byte offsets suffice, prefetches and other rows of the
/// block included; less than 1 if a single step is too long.
template <class T>
index_t max_addressable_steps(const StencilPlan<T>& plan) {
  const int axis = march_axis_of(plan);
  if (axis < 0) return 1;
  constexpr index_t half = (index_t{1} << 31) / static_cast<index_t>(sizeof(T));
  if (plan.strides[plan.axes - 2] > half / block_threads * warp_lanes) return 0;
  return half / plan.strides[axis] - prefetch_steps - 1;
}

/// Index of a tap in CoreStencil::around; negative if it is outside the window.
inline int place_in_window(index_t shift, index_t stride) {
  if (shift == 0) return 1;
  if (shift == -stride) return 0;
  return shift == stride ? 2 : -1;
}

/// The input with the most taps in the window.
template <class T>
int window_input(const StencilPlan<T>& plan, int first, int count, index_t stride) {
  int uses[max_dims] = {};
  for (int output = first; output < first + count; ++output) {
    const StencilTap<T>* tap = plan.tap + output * plan.taps;
    for (int t = 0; t < plan.across[output]; ++t) {
      if (place_in_window(tap[t].shift, stride) >= 0) ++uses[tap[t].input];
    }
  }
  for (int t = 0; t < plan.terms; ++t) {
    const StencilTerm<T>& term = plan.term[t];
    const bool is_ours = term.output >= first && term.output < first + count;
    if (is_ours && term.axis == plan.axes - 1) ++uses[term.input];
  }
  return static_cast<int>(std::max_element(uses, uses + plan.inputs) - uses);
}

/// Records an input other than that of the window; false if there are too many.
template <class T, int outputs, int taps, int reach>
bool add_input(CoreStencil<T, outputs, taps, reach>& stencil, const T* x) {
  const T** const end = stencil.input + stencil.inputs;
  if (x == stencil.window || std::find(stencil.input, end, x) != end) return true;
  if (stencil.inputs == static_cast<int>(std::size(stencil.input))) return false;
  stencil.input[stencil.inputs++] = x;
  return true;
}

/// Sets up `count` outputs from `first` on; false if they have too many taps, or taps too far away.
template <class T, int outputs, int taps, int reach>
[[nodiscard]] bool make_core_stencil(const StencilPlan<T>& plan, int first, int count,
                                     CoreStencil<T, outputs, taps, reach>& stencil) {
  const int axis = march_axis_of(plan);
  const index_t stride = axis < 0 ? 0 : plan.strides[axis];
  const int window = window_input(plan, first, count, stride);
  stencil = {};
  stencil.count = count;
  stencil.window = plan.x[window];
  stencil.along_output = -1;
  for (int i = 0; i < count; ++i) {
    stencil.y[i] = plan.y[first + i];
    const StencilTap<T>* tap = plan.tap + (first + i) * plan.taps;
    for (const auto* end = tap + plan.across[first + i]; tap != end; ++tap) {
      const int place = tap->input == window ? place_in_window(tap->shift, stride) : -1;
      if (place >= 0) {
        stencil.around[i][place] = tap->weight;
        if (place == 0) stencil.reads_before = 1;
        if (place == 2) stencil.reads_after = 1;
        continue;
      }
      const int t = static_cast<int>(
          std::find(stencil.from, stencil.from + stencil.others, tap->from) - stencil.from);
      if (t == taps) return false;
      stencil.from[t] = tap->from;
      stencil.weight[i][t] = tap->weight;
      stencil.others = std::max(stencil.others, t + 1);
      if (!add_input(stencil, plan.x[tap->input])) return false;
    }
  }
  for (int t = 0; t < plan.terms; ++t) {
    const StencilTerm<T>& term = plan.term[t];
    if (term.axis != plan.axes - 1 || term.output < first || term.output >= first + count) continue;
    if (stencil.along_output >= 0) return false;
    if (std::max(term.reach_before, term.reach_after) > reach) return false;
    if (term.reach > narrow_reach) return false;
    stencil.along_output = term.output - first;
    stencil.along_from = plan.x[term.input];
    stencil.along_window = term.input == window;
    stencil.along = term;
    if (!add_input(stencil, stencil.along_from)) return false;
  }
  return true;
}

/// The points that are computed by marching.
struct Core {
  StencilBox box;
  // Positions along the last axis with interior taps along it; others in the box have special taps.
  index_t uniform_begin;
  index_t uniform_end;
};

template <int outputs, int taps, int reach, int width, class T, class Update>
void launch_march(Cuda device, const StencilPlan<T>& plan, const Core& core,
                  const CoreStencil<T, outputs, taps, reach>& stencil, Update update) {
  const int last = plan.axes - 1;
  const auto span_of = [&](int axis) {
    return AxisSpan{core.box.end[axis] - core.box.begin[axis], plan.strides[axis]};
  };
  MarchPlan march{};
  march.begin = core.box.begin[last];
  march.end = core.box.end[last];
  march.uniform_begin = core.uniform_begin;
  march.uniform_end = core.uniform_end;
  march.extent = plan.extents[last];
  for (int axis = 0; axis < last; ++axis) march.origin += core.box.begin[axis] * plan.strides[axis];
  march.along_rows = marches_along_rows(plan);
  if (!march.along_rows) march.rows = span_of(last - 1);
  const int march_axis = march_axis_of(plan);
  if (march_axis >= 0) march.steps = span_of(march_axis);
  for (int axis = march_axis - 1; axis >= 0; --axis) {
    march.outer[march.outer_axes++] = span_of(axis);
  }

  // If rows share neighbours, a block covers several rows rather than one.
  const index_t packs = ceil_divide(march.end, width) - march.begin / width;
  unsigned columns = march.along_rows ? block_threads : warp_lanes;
  while (columns > 1 && static_cast<index_t>(columns) / 2 >= packs) columns /= 2;
  const dim3 block(columns, march_axis < 0 ? 1 : block_threads / columns);

  march.column_blocks = static_cast<unsigned>(ceil_divide(packs, columns));
  march.row_blocks = static_cast<unsigned>(ceil_divide(march.rows.length, block.y));
  index_t blocks = static_cast<index_t>(march.column_blocks) * march.row_blocks;
  for (int axis = 0; axis < march.outer_axes; ++axis) blocks *= march.outer[axis].length;
  const index_t marches_per_block = march.along_rows ? block.y : 1;
  const index_t steps = ceil_divide(march.steps.length, marches_per_block);
  const bool shares = march_axis >= 0 && has_stencil(plan, march_axis);
  const index_t longest =
      std::min(shares ? max_march : max_independent_march, max_addressable_steps(plan));
  march.length = static_cast<int>(std::clamp(blocks * steps / target_blocks, index_t{1}, longest));
  march.thread_stride = static_cast<unsigned>(march.along_rows ? march.length * march.steps.stride
                                                               : march.rows.stride);
  march.blocks = static_cast<unsigned>(ceil_divide(steps, march.length));
  blocks *= march.blocks;
  march_kernel<outputs, taps, reach, width>
      <<<static_cast<unsigned>(blocks), block, 0, detail::stream_of(device)>>>(stencil, march,
                                                                               update);
  detail::check_cuda_launch();
}

/// Launches the kernel if the outputs have no more taps than it supports.
template <int outputs, int taps, int reach, int width, class T, class Update>
[[nodiscard]] bool try_to_march(Cuda device, const StencilPlan<T>& plan, const Core& core,
                                int first, int count, Update update) {
  // One kernel is enough for arrays without whole packs.
  if constexpr (width < detail::Pack<T>::width && (reach < narrow_reach || taps == 0)) {
    return false;
  } else {
    CoreStencil<T, outputs, taps, reach> stencil;
    if (!make_core_stencil(plan, first, count, stencil)) return false;
    launch_march<outputs, taps, reach, width>(device, plan, core, stencil, update);
    return true;
  }
}

/// Whether the kernel with the most taps can compute each output on its own.
template <class T>
bool can_march(const StencilPlan<T>& plan) {
  CoreStencil<T, 1, max_cross_taps, narrow_reach> stencil;
  for (int output = 0; output < plan.outputs; ++output) {
    if (!make_core_stencil(plan, output, 1, stencil)) return false;
  }
  return true;
}

/// Computes outputs that read the same elements together, up to three. Requires can_march().
template <int width, class T, class Update>
void march_outputs(Cuda device, const StencilPlan<T>& plan, const Core& core, Update update) {
  constexpr int far = narrow_reach;
  for (int first = 0; first < plan.outputs;) {
    int count = std::min(3, plan.outputs - first);
    while (count > 1 && !try_to_march<3, 2, 1, width>(device, plan, core, first, count, update) &&
           !try_to_march<3, 2, far, width>(device, plan, core, first, count, update)) {
      --count;
    }
    if (count == 1 && !try_to_march<1, 0, 1, width>(device, plan, core, first, 1, update) &&
        !try_to_march<1, 0, far, width>(device, plan, core, first, 1, update) &&
        !try_to_march<1, 2, 1, width>(device, plan, core, first, 1, update) &&
        !try_to_march<1, 2, far, width>(device, plan, core, first, 1, update) &&
        !try_to_march<1, max_cross_taps, far, width>(device, plan, core, first, 1, update)) {
      detail::refuse_launch("a stencil with this many taps");
    }
    first += count;
  }
}

/// Whether the stencil along the last axis reads no ghost cells.
template <class T>
bool has_whole_rows(const StencilPlan<T>& plan) {
  return std::none_of(plan.term, plan.term + plan.terms, [&](const StencilTerm<T>& term) {
    return term.axis == plan.axes - 1 && term.before_width + term.after_width > 0;
  });
}

template <class T, class Update>
void apply(Cuda device, const StencilPlan<T>& plan, const StencilBox& box, Update update) {
  Core core{};
  index_t points = 1;
  for (int axis = 0; axis < plan.axes; ++axis) {
    index_t& begin = core.box.begin[axis];
    index_t& end = core.box.end[axis];
    begin = std::clamp(plan.core_begin[axis], box.begin[axis], box.end[axis]);
    end = std::clamp(plan.core_end[axis], begin, box.end[axis]);
    points *= end - begin;
  }
  if (points < min_core_points || max_addressable_steps(plan) < 1 || !can_march(plan)) {
    core.box.begin[0] = core.box.end[0] = box.end[0];
    return compute_boundary(device, plan, box, core.box, update);
  }
  // March through whole rows, ends included: separate stores of the ends would be partial sectors,
  // which memory must read before it writes them.
  const int last = plan.axes - 1;
  core.uniform_end = plan.extents[last];
  if (has_whole_rows(plan)) {
    core.uniform_begin = std::exchange(core.box.begin[last], box.begin[last]);
    core.uniform_end = std::exchange(core.box.end[last], box.end[last]);
  }
  if (has_packed_rows(plan)) {
    march_outputs<detail::Pack<T>::width>(device, plan, core, update);
  } else {
    march_outputs<1>(device, plan, core, update);
  }
  compute_boundary(device, plan, box, core.box, update);
}

}  // namespace weft::kernels
