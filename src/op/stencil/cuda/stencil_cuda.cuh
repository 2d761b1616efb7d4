#pragma once

// Stencils on a GPU, for stencil_kernels.cpp only. Blocks of threads walk through the core of the
// array, where all points have the same taps; a second kernel computes the points around it.

#include "op/stencil/cuda/stencil_boundary.cuh"
#include "op/stencil/cuda/stencil_core.cuh"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::kernels {

/// Blocks that keep a GPU busy, with enough of them for the last ones to end together.
inline constexpr index_t enough_blocks = 8192;
/// Steps of a walk at most; what two walks share is read twice.
inline constexpr index_t longest_walk = 32;
/// The same where walks share nothing.
inline constexpr index_t short_walk = 16;
/// More than the Laplacian of five axes has across the last one.
inline constexpr int most_taps = 9;
/// A core of fewer points is not worth a kernel of its own.
inline constexpr index_t smallest_core = 1 << 14;

/// Rows begin and end at packs.
template <class T>
bool is_packed(const StencilPlan<T>& plan) {
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

/// Threads walk along the axis before the rows, or along the rows where no stencil shares anything
/// between planes.
template <class T>
bool walks_along_rows(const StencilPlan<T>& plan) {
  return plan.axes < 3 || !has_stencil(plan, plan.axes - 3);
}

/// Negative for an array of one axis.
template <class T>
int walk_axis_of(const StencilPlan<T>& plan) {
  return plan.axes - (walks_along_rows(plan) ? 2 : 3);
}

/// How many steps a walk may have for all places in it to be within 32 bits, those that it looks
/// ahead and other rows included; less than 1 where steps are too far.
template <class T>
index_t steps_in_reach(const StencilPlan<T>& plan) {
  const int axis = walk_axis_of(plan);
  if (axis < 0) return 1;
  constexpr index_t half = (index_t{1} << 31) / static_cast<index_t>(sizeof(T));
  if (plan.strides[plan.axes - 2] > half / block_threads * warp_lanes) return 0;
  return half / plan.strides[axis] - steps_ahead - 1;
}

/// The place in CoreStencil::around of a tap; negative where it has none.
inline int place_in_window(index_t shift, index_t stride) {
  if (shift == 0) return 1;
  if (shift == -stride) return 0;
  return shift == stride ? 2 : -1;
}

/// The input of which most taps are in the window.
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

/// Notes an input other than that of the window.
template <class T, int outputs, int taps, int reach>
bool add_input(CoreStencil<T, outputs, taps, reach>& stencil, const T* x) {
  const T** const end = stencil.input + stencil.inputs;
  if (x == stencil.window || std::find(stencil.input, end, x) != end) return true;
  if (stencil.inputs == static_cast<int>(std::size(stencil.input))) return false;
  stencil.input[stencil.inputs++] = x;
  return true;
}

/// Describes `count` outputs from `first` on; false where they have too many taps, or too far ones.
template <class T, int outputs, int taps, int reach>
[[nodiscard]] bool describe(const StencilPlan<T>& plan, int first, int count,
                            CoreStencil<T, outputs, taps, reach>& stencil) {
  const int axis = walk_axis_of(plan);
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
    stencil.along_output = term.output - first;
    stencil.along_from = plan.x[term.input];
    stencil.along_window = term.input == window;
    stencil.along = term;
    if (!add_input(stencil, stencil.along_from)) return false;
  }
  return true;
}

/// What blocks of threads walk through.
struct Core {
  StencilBox box;
  // Places along the last axis with the same taps along it; others in the box have special ones.
  index_t even_begin;
  index_t even_end;
};

template <int outputs, int taps, int reach, int width, class T, class Put>
void walk(Cuda device, const StencilPlan<T>& plan, const Core& core,
          const CoreStencil<T, outputs, taps, reach>& stencil, Put put) {
  const int last = plan.axes - 1;
  const auto lane_of = [&](int axis) {
    return AxisSpan{core.box.end[axis] - core.box.begin[axis], plan.strides[axis]};
  };
  Walks walks{};
  walks.begin = core.box.begin[last];
  walks.end = core.box.end[last];
  walks.even_begin = core.even_begin;
  walks.even_end = core.even_end;
  walks.extent = plan.extents[last];
  for (int axis = 0; axis < last; ++axis) walks.origin += core.box.begin[axis] * plan.strides[axis];
  walks.along_rows = walks_along_rows(plan);
  if (!walks.along_rows) walks.rows = lane_of(last - 1);
  const int walk_axis = walk_axis_of(plan);
  if (walk_axis >= 0) walks.steps = lane_of(walk_axis);
  for (int axis = walk_axis - 1; axis >= 0; --axis) {
    walks.outer[walks.outer_axes++] = lane_of(axis);
  }

  // Where rows share neighbours, a block is a square of them rather than a line.
  const index_t packs = parts_of(walks.end, width) - walks.begin / width;
  unsigned columns = walks.along_rows ? block_threads : warp_lanes;
  while (columns > 1 && static_cast<index_t>(columns) / 2 >= packs) columns /= 2;
  const dim3 block(columns, walk_axis < 0 ? 1 : block_threads / columns);

  walks.column_blocks = static_cast<unsigned>(parts_of(packs, columns));
  walks.row_blocks = static_cast<unsigned>(parts_of(walks.rows.length, block.y));
  index_t blocks = static_cast<index_t>(walks.column_blocks) * walks.row_blocks;
  for (int axis = 0; axis < walks.outer_axes; ++axis) blocks *= walks.outer[axis].length;
  const index_t walks_at_once = walks.along_rows ? block.y : 1;
  const index_t steps = parts_of(walks.steps.length, walks_at_once);
  const bool shares = walk_axis >= 0 && has_stencil(plan, walk_axis);
  const index_t longest = std::min(shares ? longest_walk : short_walk, steps_in_reach(plan));
  walks.walk_length =
      static_cast<int>(std::clamp(blocks * steps / enough_blocks, index_t{1}, longest));
  walks.thread_stride = static_cast<unsigned>(
      walks.along_rows ? walks.walk_length * walks.steps.stride : walks.rows.stride);
  walks.walk_blocks = static_cast<unsigned>(parts_of(steps, walks.walk_length));
  blocks *= walks.walk_blocks;
  walk_kernel<outputs, taps, reach, width>
      <<<static_cast<unsigned>(blocks), block, 0, detail::stream_of(device)>>>(stencil, walks, put);
  detail::check_cuda_launch();
}

/// Walks if the outputs have so few taps.
template <int outputs, int taps, int reach, int width, class T, class Put>
[[nodiscard]] bool try_to_walk(Cuda device, const StencilPlan<T>& plan, const Core& core, int first,
                               int count, Put put) {
  // Where packs have to be taken apart, one kernel does for all.
  if constexpr (width < detail::Pack<T>::width && (reach < stencil_reach || taps == 0)) {
    return false;
  } else {
    CoreStencil<T, outputs, taps, reach> stencil;
    if (!describe(plan, first, count, stencil)) return false;
    walk<outputs, taps, reach, width>(device, plan, core, stencil, put);
    return true;
  }
}

/// Whether each output can be walked through by itself, by the kernel that takes most taps.
template <class T>
bool can_walk(const StencilPlan<T>& plan) {
  CoreStencil<T, 1, most_taps, stencil_reach> stencil;
  for (int output = 0; output < plan.outputs; ++output) {
    if (!describe(plan, output, 1, stencil)) return false;
  }
  return true;
}

/// Outputs that read the same elements are computed together, up to three. can_walk() is true.
template <int width, class T, class Put>
void walk_outputs(Cuda device, const StencilPlan<T>& plan, const Core& core, Put put) {
  constexpr int far = stencil_reach;
  for (int first = 0; first < plan.outputs;) {
    int count = std::min(3, plan.outputs - first);
    while (count > 1 && !try_to_walk<3, 2, 1, width>(device, plan, core, first, count, put) &&
           !try_to_walk<3, 2, far, width>(device, plan, core, first, count, put)) {
      --count;
    }
    if (count == 1 && !try_to_walk<1, 0, 1, width>(device, plan, core, first, 1, put) &&
        !try_to_walk<1, 0, far, width>(device, plan, core, first, 1, put) &&
        !try_to_walk<1, 2, 1, width>(device, plan, core, first, 1, put) &&
        !try_to_walk<1, 2, far, width>(device, plan, core, first, 1, put) &&
        !try_to_walk<1, most_taps, far, width>(device, plan, core, first, 1, put)) {
      detail::refuse_launch("a stencil of so many taps");
    }
    first += count;
  }
}

/// Elements that the stencil along the last axis needs are all in the row.
template <class T>
bool has_whole_rows(const StencilPlan<T>& plan) {
  return std::none_of(plan.term, plan.term + plan.terms, [&](const StencilTerm<T>& term) {
    return term.axis == plan.axes - 1 && term.before_width + term.after_width > 0;
  });
}

template <class T, class Put>
void apply(Cuda device, const StencilPlan<T>& plan, const StencilBox& box, Put put) {
  Core core{};
  index_t points = 1;
  for (int axis = 0; axis < plan.axes; ++axis) {
    index_t& begin = core.box.begin[axis];
    index_t& end = core.box.end[axis];
    begin = std::clamp(plan.core_begin[axis], box.begin[axis], box.end[axis]);
    end = std::clamp(plan.core_end[axis], begin, box.end[axis]);
    points *= end - begin;
  }
  if (points < smallest_core || steps_in_reach(plan) < 1 || !can_walk(plan)) {
    core.box.begin[0] = core.box.end[0] = box.end[0];
    return visit_rim(device, plan, box, core.box, put);
  }
  // The ends of rows are computed with the rest of them: written later, they would be parts of
  // sectors, for which the memory reads what surrounds them.
  const int last = plan.axes - 1;
  core.even_end = plan.extents[last];
  if (has_whole_rows(plan)) {
    core.even_begin = std::exchange(core.box.begin[last], box.begin[last]);
    core.even_end = std::exchange(core.box.end[last], box.end[last]);
  }
  if (is_packed(plan)) {
    walk_outputs<detail::Pack<T>::width>(device, plan, core, put);
  } else {
    walk_outputs<1>(device, plan, core, put);
  }
  visit_rim(device, plan, box, core.box, put);
}

}  // namespace weft::kernels
