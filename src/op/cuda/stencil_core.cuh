#pragma once

// The kernel for points whose taps are all the same, for stencil_walks.cuh only. A thread walks
// along an axis with three packs of elements in registers: those before, at and after its place.

#include <weft/core/for_each.hpp>

#include "array/update_math.hpp"
#include "op/cuda/stencil_rim.cuh"
#include "op/stencil_math.hpp"

#include <type_traits>

namespace weft::kernels {

inline constexpr int warp_lanes = 32;
/// How many steps ahead of its use an element is fetched into the cache.
inline constexpr int steps_ahead = 3;

/// Places along an axis.
struct Lane {
  index_t length = 1;
  index_t stride = 0;
};

/// How blocks go over the core. Threads of a block lie along the last axis, each with a pack of
/// elements, and in several rows along the axis before it; all walk along the axis before that one.
/// Where no stencil lies along that axis, they walk along the rows, one behind the other.
struct Walks {
  index_t origin;  // of the core, without the last axis
  index_t begin;   // and its places along that
  index_t end;
  index_t even_begin;  // those with the same taps along the last axis
  index_t even_end;
  index_t extent;  // of the array there
  Lane rows;
  Lane steps;
  bool along_rows;
  int outer_axes;
  Lane outer[max_dims];
  unsigned column_blocks;
  unsigned row_blocks;
  unsigned walk_blocks;
  index_t walk_length;
};

/// What a kernel computes at once: the taps of some outputs, in an order that is known to the
/// compiler, so that they are operands of instructions and need no loads. A weight of zero stands
/// for no tap.
template <class T, int outputs, int taps>
struct CoreStencil {
  int count;  // of outputs
  T* y[outputs];
  // Taps at one place less along the walk, at the point itself, and at one place more.
  const T* window;
  RealOf<T> around[outputs][3];
  int reads_before;  // 0 or 1
  int reads_after;
  // Other taps across the last axis.
  int others;
  const T* from[taps];
  RealOf<T> weight[outputs][taps];
  // Those along it, of one output at most.
  int along_output;  // or -1
  const T* along_from;
  bool along_window;  // they are of the same input
  StencilTerm<T> along;
  // Of the inputs of the other taps.
  int inputs;
  const T* input[taps + 1];
};

/// How many blocks at a time a multiprocessor has registers for.
template <class T>
constexpr unsigned resident_blocks(int taps) {
  if (taps > 5 || sizeof(T) > 8) return 2;
  return taps > 2 ? 3 : 4;
}

/// Where a thread begins, and how many steps it makes.
struct Path {
  index_t k;  // along the last axis
  index_t point;
  int steps;
};

template <int width>
__device__ Path find_path(const Walks& walks) {
  unsigned rest = blockIdx.x;
  const auto next = [&](unsigned count) {
    const unsigned number = rest % count;
    rest /= count;
    return static_cast<index_t>(number);
  };
  const index_t column = next(walks.column_blocks) * blockDim.x + threadIdx.x;
  const index_t row_block = next(walks.row_blocks);
  const index_t walk_block = next(walks.walk_blocks);
  const index_t spread = (walks.along_rows ? walk_block : row_block) * blockDim.y + threadIdx.y;
  const index_t row = walks.along_rows ? row_block : spread;
  const index_t walk = walks.along_rows ? spread : walk_block;
  Path path;
  path.k = (walks.begin / width + column) * width;
  const index_t first = walk * walks.walk_length;
  path.point = walks.origin + path.k + row * walks.rows.stride + first * walks.steps.stride;
  for (int axis = 0; axis < walks.outer_axes; ++axis) {
    path.point += next(static_cast<unsigned>(walks.outer[axis].length)) * walks.outer[axis].stride;
  }
  const bool exists = path.k < walks.end && row < walks.rows.length && first < walks.steps.length;
  path.steps = exists ? static_cast<int>(min(walks.walk_length, walks.steps.length - first)) : 0;
  return path;
}

/// A thread's pack in a row, and how it gets elements beside the pack: from other lanes of the warp
/// or, where these have none, from memory.
template <int width>
struct Column {
  index_t k;
  unsigned lanes;  // that take part in shuffles; 0: no shuffles
  bool is_whole;   // all elements are computed
  bool is_even;    // all have the same taps
  bool loads_before[stencil_reach];
  bool loads_after[stencil_reach];

  /// How many lanes further the element is that is d before or after the pack.
  static constexpr int hop(int d) { return (d + width - 1) / width; }

  __device__ Column(const Walks& walks, index_t place, unsigned alive)
      : k(place),
        lanes(blockDim.x < warp_lanes ? 0 : alive),
        is_whole(k >= walks.begin && k + width <= walks.end),
        is_even(k >= walks.even_begin && k + width <= walks.even_end) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
    for (int d = 1; d <= stencil_reach; ++d) {
      loads_before[d - 1] = k >= d && (lanes == 0 || lane < hop(d));
      loads_after[d - 1] =
          k + width - 1 + d < walks.extent &&
          (lanes == 0 || lane + hop(d) >= warp_lanes || k + hop(d) * width >= walks.end);
    }
  }
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

template <class T, int width>
__device__ void copy(const T (&from)[width], T (&to)[width]) {
#pragma unroll
  for (int j = 0; j < width; ++j) to[j] = from[j];
}

template <class T, int width>
__device__ void add(RealOf<T> weight, const T (&values)[width], T (&sums)[width]) {
  if (weight == 0) return;
#pragma unroll
  for (int j = 0; j < width; ++j) sums[j] += weight * values[j];
}

template <class R>
__device__ R shuffle_up(unsigned lanes, R value, int hop) {
  return __shfl_up_sync(lanes, value, hop);
}
template <class R>
__device__ Complex<R> shuffle_up(unsigned lanes, Complex<R> value, int hop) {
  return {shuffle_up(lanes, value.re, hop), shuffle_up(lanes, value.im, hop)};
}
template <class R>
__device__ R shuffle_down(unsigned lanes, R value, int hop) {
  return __shfl_down_sync(lanes, value, hop);
}
template <class R>
__device__ Complex<R> shuffle_down(unsigned lanes, Complex<R> value, int hop) {
  return {shuffle_down(lanes, value.re, hop), shuffle_down(lanes, value.im, hop)};
}

/// What a step needs and the window does not have; loaded at the end of the step before.
template <class T, int taps, int width>
struct Fetched {
  T others[taps][width] = {};
  T along[width] = {};
  T before[stencil_reach] = {};
  T after[stencil_reach] = {};
};

template <class T, int outputs, int taps, int width>
__device__ void fetch(const CoreStencil<T, outputs, taps>& stencil, const Column<width>& column,
                      index_t point, Fetched<T, taps, width>& fetched) {
#pragma unroll
  for (int t = 0; t < taps; ++t) {
    if (t < stencil.others) load(stencil.from[t] + point, fetched.others[t]);
  }
  if (stencil.along_output < 0) return;
  const T* x = stencil.along_from + point;
  if (!stencil.along_window) load(x, fetched.along);
#pragma unroll
  for (int d = 1; d <= stencil_reach; ++d) {
    if (d <= stencil.along.reach_before && column.loads_before[d - 1]) {
      fetched.before[d - 1] = x[-d];
    }
    if (d <= stencil.along.reach_after && column.loads_after[d - 1]) {
      fetched.after[d - 1] = x[width - 1 + d];
    }
  }
}

/// Sets sums to the taps along the last axis. An element that has other taps than most, or too few
/// neighbours, gets a value that means nothing. All `column.lanes` must call this together.
template <class T, int taps, int width>
__device__ void sum_along(const StencilTerm<T>& term, const Column<width>& column,
                          const Fetched<T, taps, width>& fetched, T (&sums)[width]) {
  const auto& middle = fetched.along;
  T window[stencil_reach + width + stencil_reach] = {};
#pragma unroll
  for (int j = 0; j < width; ++j) window[stencil_reach + j] = middle[j];
#pragma unroll
  for (int d = 1; d <= stencil_reach; ++d) {
    const int hop = Column<width>::hop(d);
    if (d <= term.reach_before) {
      T value = fetched.before[d - 1];
      if (column.lanes != 0) {
        const T other = shuffle_up(column.lanes, middle[hop * width - d], hop);
        if (!column.loads_before[d - 1]) value = other;
      }
      window[stencil_reach - d] = value;
    }
    if (d <= term.reach_after) {
      T value = fetched.after[d - 1];
      if (column.lanes != 0) {
        const T other = shuffle_down(column.lanes, middle[width - 1 + d - hop * width], hop);
        if (!column.loads_after[d - 1]) value = other;
      }
      window[stencil_reach + width - 1 + d] = value;
    }
  }
#pragma unroll
  for (int d = -stencil_reach; d <= stencil_reach; ++d) {
    const RealOf<T> weight = term.interior[stencil_reach + d];
    if (weight == 0) continue;
#pragma unroll
    for (int j = 0; j < width; ++j) sums[j] += weight * window[stencil_reach + j + d];
  }
}

/// The same for those elements of a pack, near an end of the row, that have other taps.
template <class T, int width>
__device__ void sum_at_edges(const StencilTerm<T>& term, const Walks& walks, index_t k, const T* x,
                             T (&sums)[width]) {
#pragma unroll
  for (int j = 0; j < width; ++j) {
    if (k + j >= walks.even_begin && k + j < walks.even_end) continue;
    const RealOf<T>* row = row_at(term, k + j);
    T sum{};
#pragma unroll
    for (int d = -stencil_reach; d <= stencil_reach; ++d) {
      const RealOf<T> weight = row[stencil_reach + d];
      if (weight != 0) sum += weight * x[j + d];
    }
    sums[j] = sum;
  }
}

/// Puts the elements of a pack that are in the core.
template <class T, int width, class Put>
__device__ void store(const T (&values)[width], T* y, const Column<width>& column,
                      const Walks& walks, Put put) {
  if (width > 1 && column.is_whole) {
    constexpr bool reads = std::is_same_v<Put, Blended<T>>;
    int4 bits{};
    auto& pack = reinterpret_cast<detail::Pack<T>&>(bits);
    if constexpr (reads) bits = *reinterpret_cast<const int4*>(y);
#pragma unroll
    for (int j = 0; j < width; ++j) put(values[j], pack.at[j]);
    __stcs(reinterpret_cast<int4*>(y), bits);  // leaves the cache to the inputs
    return;
  }
#pragma unroll
  for (int j = 0; j < width; ++j) {
    if (column.k + j >= walks.begin && column.k + j < walks.end) put(values[j], y[j]);
  }
}

/// Has elements that are needed d steps later brought into the cache.
template <class T, int outputs, int taps>
__device__ void prefetch(const CoreStencil<T, outputs, taps>& stencil, index_t point, int left,
                         int d) {
  const auto fetch_line = [](const T* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); };
  if (left + stencil.reads_after > d) fetch_line(stencil.window + point);
  if (left <= d) return;
#pragma unroll
  for (int i = 0; i < taps + 1; ++i) {
    if (i < stencil.inputs) fetch_line(stencil.input[i] + point);
  }
}

template <int outputs, int taps, int width, class T, class Put>
__global__ void __launch_bounds__(block_threads, resident_blocks<T>(taps))
    walk_kernel(const __grid_constant__ CoreStencil<T, outputs, taps> stencil,
                const __grid_constant__ Walks walks, Put put) {
  const Path path = find_path<width>(walks);
  // In blocks that are wide enough for shuffles, a warp is in one row: its lanes make as many steps
  // as each other, or none.
  const Column<width> column(walks, path.k, __ballot_sync(~0U, path.steps > 0));
  if (path.steps == 0) return;
  index_t point = path.point;
  const index_t ahead = walks.steps.stride;
  T before[width] = {};
  T here[width];
  T after[width] = {};
  if (stencil.reads_before) load(stencil.window + point - ahead, before);
  load(stencil.window + point, here);
  if (path.steps + stencil.reads_after > 1) load(stencil.window + point + ahead, after);
  Fetched<T, taps, width> fetched;
  fetch(stencil, column, point, fetched);
#pragma unroll
  for (int d = 1; d < steps_ahead; ++d) prefetch(stencil, point + d * ahead, path.steps, d);
#pragma unroll 1
  for (int left = path.steps; left > 0; --left, point += ahead) {
    prefetch(stencil, point + steps_ahead * ahead, left, steps_ahead);
    T along[width] = {};
    if (stencil.along_output >= 0) {
      if (stencil.along_window) copy(here, fetched.along);
      sum_along(stencil.along, column, fetched, along);
      if (!column.is_even) {
        sum_at_edges(stencil.along, walks, path.k, stencil.along_from + point, along);
      }
    }
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      if (i >= stencil.count) continue;
      T sums[width] = {};
      if (i == stencil.along_output) copy(along, sums);
      add(stencil.around[i][0], before, sums);
      add(stencil.around[i][1], here, sums);
      add(stencil.around[i][2], after, sums);
#pragma unroll
      for (int t = 0; t < taps; ++t) add(stencil.weight[i][t], fetched.others[t], sums);
      store(sums, stencil.y[i] + point, column, walks, put);
    }
    if (left == 1) break;
    copy(here, before);
    copy(after, here);
    if (left + stencil.reads_after > 2) load(stencil.window + point + 2 * ahead, after);
    fetch(stencil, column, point + ahead, fetched);
  }
}

}  // namespace weft::kernels
