#pragma once

// The kernel for points whose taps are all the same, for stencil_cuda.cuh only. A thread walks
// along an axis with three packs of elements in registers: those before, at and after its place. To
// be as fast as a copy, a step must make do with few instructions.

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "op/stencil/cuda/stencil_boundary.cuh"
#include "op/stencil/stencil_terms.hpp"

#include <algorithm>
#include <type_traits>

namespace weft::kernels {

/// How many steps ahead of its use an element is fetched into the cache.
inline constexpr unsigned steps_ahead = 3;

/// Places along an axis.
struct AxisSpan {
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
  AxisSpan rows;
  AxisSpan steps;
  bool along_rows;
  int outer_axes;
  AxisSpan outer[max_dims];
  unsigned column_blocks;
  unsigned row_blocks;
  unsigned walk_blocks;
  int walk_length;
  unsigned thread_stride;  // from one thread to the next that is not in its row
};

/// What a kernel computes at once: the taps of some outputs, in an order that is known to the
/// compiler, so that they are operands of instructions and need no loads. A weight of zero stands
/// for no tap. Most taps along the last axis are no further than `reach`.
template <class T, int outputs, int taps, int reach>
struct CoreStencil {
  static constexpr int places = std::max(taps, 1);

  int count;  // of outputs
  T* y[outputs];
  // Taps at one place less along the walk, at the point itself, and at one place more.
  const T* window;
  RealOf<T> around[outputs][3];
  int reads_before;  // 0 or 1
  int reads_after;
  // Other taps across the last axis.
  int others;
  const T* from[places];
  RealOf<T> weight[outputs][places];
  // Those along it, of one output at most.
  int along_output;  // or -1
  const T* along_from;
  bool along_window;  // they are of the same input
  StencilTerm<T> along;
  // Inputs other than that of the window.
  int inputs;
  const T* input[outputs > 1 ? 1 : max_dims];
};

/// How many blocks at a time a multiprocessor has registers for.
constexpr unsigned resident_blocks(int taps) { return taps > 2 ? 2 : 4; }

/// Where a thread begins, and how many steps it makes. A place in an array is that of the block,
/// which is the same for all of its threads, and a number of bytes from there: with 32 bits for
/// these, addresses cost no instructions.
template <class T, int width>
struct Path {
  index_t k;      // along the last axis
  index_t block;  // its place
  unsigned bytes;
  int steps;
  bool exists;  // it is not there just to complete a warp

  __device__ explicit Path(const Walks& walks) {
    unsigned rest = blockIdx.x;
    const auto next = [&](unsigned count) {
      const unsigned number = rest % count;
      rest /= count;
      return static_cast<index_t>(number);
    };
    const index_t first_k = (walks.begin / width + next(walks.column_blocks) * blockDim.x) * width;
    const index_t row_block = next(walks.row_blocks);
    const index_t walk_block = next(walks.walk_blocks);
    const index_t first_row = walks.along_rows ? row_block : row_block * blockDim.y;
    const index_t first_walk = walks.along_rows ? walk_block * blockDim.y : walk_block;
    const unsigned row = walks.along_rows ? 0 : threadIdx.y;
    const unsigned walk = walks.along_rows ? threadIdx.y : 0;

    block = walks.origin + first_k + first_row * walks.rows.stride +
            first_walk * walks.walk_length * walks.steps.stride;
#pragma unroll 1
    for (int axis = 0; axis < walks.outer_axes; ++axis) {
      block += next(static_cast<unsigned>(walks.outer[axis].length)) * walks.outer[axis].stride;
    }
    // Threads behind the end of the row do what the last one does.
    const index_t columns = (walks.end - 1 - first_k) / width;
    const auto column = static_cast<unsigned>(min(index_t{threadIdx.x}, columns));
    exists = threadIdx.x <= columns;
    k = first_k + column * width;
    bytes = (column * width + threadIdx.y * walks.thread_stride) * unsigned{sizeof(T)};
    const index_t first = (first_walk + walk) * walks.walk_length;
    steps = first_row + row < walks.rows.length
                ? static_cast<int>(min(index_t{walks.walk_length}, walks.steps.length - first))
                : 0;
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
__device__ R shuffle_up(R value, int hop) {
  return __shfl_up_sync(~0U, value, hop);
}
template <class R>
__device__ Complex<R> shuffle_up(Complex<R> value, int hop) {
  return {shuffle_up(value.re, hop), shuffle_up(value.im, hop)};
}
template <class R>
__device__ R shuffle_down(R value, int hop) {
  return __shfl_down_sync(~0U, value, hop);
}
template <class R>
__device__ Complex<R> shuffle_down(Complex<R> value, int hop) {
  return {shuffle_down(value.re, hop), shuffle_down(value.im, hop)};
}

/// How a thread gets the elements of a row that are beside its pack: from other lanes of the warp
/// or, where these do not have them, from memory.
template <class T, int reach, int width>
struct Beside {
  bool shuffles;  // warps are in one row
  bool loads_before[reach];
  bool loads_after[reach];
  T before[reach] = {};
  T after[reach] = {};

  /// How many lanes further the element is that is d before or after the pack.
  static constexpr int hop(int d) { return (d + width - 1) / width; }

  __device__ Beside(const Walks& walks, index_t k) : shuffles(blockDim.x >= warp_lanes) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
    for (int d = 1; d <= reach; ++d) {
      loads_before[d - 1] = k >= d && (!shuffles || lane < hop(d));
      loads_after[d - 1] =
          k + width - 1 + d < walks.extent &&
          (!shuffles || lane + hop(d) >= warp_lanes || k + hop(d) * width >= walks.end);
    }
  }

  /// The pack is at x.
  __device__ void fetch(const T* x) {
#pragma unroll
    for (int d = 1; d <= reach; ++d) {
      if (loads_before[d - 1]) before[d - 1] = x[-d];
      if (loads_after[d - 1]) after[d - 1] = x[width - 1 + d];
    }
  }

  /// All lanes of a warp must call this together, after fetch().
  __device__ void exchange(const T (&pack)[width], T (&all)[reach + width + reach]) const {
#pragma unroll
    for (int j = 0; j < width; ++j) all[reach + j] = pack[j];
#pragma unroll
    for (int d = 1; d <= reach; ++d) {
      all[reach - d] = before[d - 1];
      all[reach + width - 1 + d] = after[d - 1];
    }
    if (!shuffles) return;
#pragma unroll
    for (int d = 1; d <= reach; ++d) {
      const T left = shuffle_up(pack[hop(d) * width - d], hop(d));
      const T right = shuffle_down(pack[width - 1 + d - hop(d) * width], hop(d));
      if (!loads_before[d - 1]) all[reach - d] = left;
      if (!loads_after[d - 1]) all[reach + width - 1 + d] = right;
    }
  }
};

/// What a thread puts of its packs: all, the elements that are in the core, or nothing.
enum class Share : int { whole, some, none };

template <class T, int width, class Put>
__device__ void store(const T (&values)[width], T* y, Share share, const Walks& walks, index_t k,
                      Put put) {
  if (share == Share::none) return;
  if (width > 1 && share == Share::whole) {
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
    if (k + j >= walks.begin && k + j < walks.end) put(values[j], y[j]);
  }
}

/// The taps along the row of a pack near an end of it. Most often its elements have those of
/// others, but for some that are missing: then a bit for each that is there saves loads of weights.
template <class T, int reach, int width>
struct EndTaps {
  static constexpr int span = 2 * reach + 1;
  static constexpr unsigned are_usual = 1U << 30;    // with a bit for each tap of each element
  static constexpr unsigned are_special = 1U << 31;  // with a bit for each element that has others
  static_assert(width * span <= 30);
  unsigned bits = 0;  // none for a pack that is far from the ends

  __device__ EndTaps(const StencilTerm<T>& term, const Walks& walks, index_t k) {
    unsigned places = 0;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      if (k + j < walks.even_begin || k + j >= walks.even_end) places |= 1U << j;
    }
    if (places == 0 || term.rows == nullptr) return;
    bits = are_usual;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const RealOf<T>* row = row_at(term, k + j) + stencil_reach;
#pragma unroll
      for (int d = -stencil_reach; d <= stencil_reach; ++d) {
        const RealOf<T> weight = __ldg(row + d);
        const bool is_usual = weight == term.interior[stencil_reach + d];
        if (!is_usual && weight != 0) bits |= are_special;
        if (is_usual && d >= -reach && d <= reach) bits |= 1U << (j * span + reach + d);
      }
    }
    if ((bits & are_special) != 0) bits = are_special | places;
  }

  /// From the elements beside and in the pack, which is at x in memory.
  __device__ void sum(const StencilTerm<T>& term, index_t k, const T (&all)[reach + width + reach],
                      const T* x, T (&sums)[width]) const {
    const auto has = [this](int bit) { return (bits >> bit & 1U) != 0; };
    if ((bits & are_special) != 0) {
#pragma unroll
      for (int j = 0; j < width; ++j) {
        if (has(j)) sums[j] = sum_row(row_at(term, k + j), x + j);
      }
      return;
    }
#pragma unroll
    for (int j = 0; j < width; ++j) {
      sums[j] = T{};
#pragma unroll
      for (int d = -reach; d <= reach; ++d) {
        const RealOf<T> weight = term.interior[stencil_reach + d];
        if (weight != 0 && has(j * span + reach + d)) sums[j] += weight * all[reach + j + d];
      }
    }
  }

  __device__ static T sum_row(const RealOf<T>* row, const T* x) {
    T sum{};
#pragma unroll 1
    for (int d = -stencil_reach; d <= stencil_reach; ++d) {
      const RealOf<T> weight = row[stencil_reach + d];
      if (weight != 0) sum += weight * x[d];
    }
    return sum;
  }
};

template <int outputs, int taps, int reach, int width, class T, class Put>
__global__ void __launch_bounds__(block_threads, resident_blocks(taps))
    walk_kernel(const __grid_constant__ CoreStencil<T, outputs, taps, reach> stencil,
                const __grid_constant__ Walks walks, Put put) {
  const Path<T, width> path(walks);
  if (path.steps <= 0) return;
  const bool is_inside = path.k >= walks.begin && path.k + width <= walks.end;
  Share share = !path.exists ? Share::none : is_inside ? Share::whole : Share::some;
  EndTaps<T, reach, width> ends(stencil.along, walks, path.k);
  // Not to be found out again in each step:
  asm volatile("" : "+r"(reinterpret_cast<int&>(share)), "+r"(ends.bits));
  Beside<T, reach, width> beside(walks, path.k);

  const auto at = [&path](auto* array, unsigned bytes) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array)>>,
                                    const unsigned char, unsigned char>;
    return reinterpret_cast<decltype(array)>(reinterpret_cast<Byte*>(array + path.block) + bytes);
  };
  const auto ahead = static_cast<unsigned>(walks.steps.stride) * unsigned{sizeof(T)};
  const auto prefetch = [&](const T* array, unsigned bytes) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at(array, bytes)));
  };
  unsigned bytes = path.bytes;
  T before[width] = {};
  T here[width];
  T after[width] = {};
  T others[stencil.places][width] = {};
  T along[width] = {};
  const auto fetch = [&] {
#pragma unroll
    for (int t = 0; t < taps; ++t) {
      if (t < stencil.others) load(at(stencil.from[t], bytes), others[t]);
    }
    if (stencil.along_output < 0) return;
    if (!stencil.along_window) load(at(stencil.along_from, bytes), along);
    beside.fetch(at(stencil.along_from, bytes));
  };
  if (stencil.reads_before) load(at(stencil.window - walks.steps.stride, bytes), before);
  load(at(stencil.window, bytes), here);
  if (path.steps + stencil.reads_after > 1) load(at(stencil.window, bytes + ahead), after);
  fetch();
#pragma unroll 1
  for (int left = path.steps;; --left) {
    if (left > steps_ahead) {
      prefetch(stencil.window, bytes + steps_ahead * ahead);
#pragma unroll 1
      for (int i = 0; i < stencil.inputs; ++i) {
        prefetch(stencil.input[i], bytes + steps_ahead * ahead);
      }
    }
    T sums[width] = {};
    if (stencil.along_output >= 0) {
      if (stencil.along_window) copy(here, along);
      T all[reach + width + reach];
      beside.exchange(along, all);
#pragma unroll
      for (int d = -reach; d <= reach; ++d) {
        const RealOf<T> weight = stencil.along.interior[stencil_reach + d];
        if (weight == 0) continue;
#pragma unroll
        for (int j = 0; j < width; ++j) sums[j] += weight * all[reach + j + d];
      }
      if (ends.bits != 0) {
        ends.sum(stencil.along, path.k, all, at(stencil.along_from, bytes), sums);
      }
    }
    T sums_along[width];
    copy(sums, sums_along);
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      if (outputs > 1 && i >= stencil.count) continue;
      if (outputs > 1) {
#pragma unroll
        for (int j = 0; j < width; ++j) sums[j] = i == stencil.along_output ? sums_along[j] : T{};
      }
      add(stencil.around[i][0], before, sums);
      add(stencil.around[i][1], here, sums);
      add(stencil.around[i][2], after, sums);
#pragma unroll
      for (int t = 0; t < taps; ++t) add(stencil.weight[i][t], others[t], sums);
      store(sums, at(stencil.y[i], bytes), share, walks, path.k, put);
    }
    if (left == 1) break;
    bytes += ahead;
    copy(here, before);
    copy(after, here);
    if (left + stencil.reads_after > 2) load(at(stencil.window, bytes + ahead), after);
    fetch();
  }
}

}  // namespace weft::kernels
