#pragma once

// The GPU kernel for the core of a stencil, where all points have the same taps; launched by
// stencil_cuda.cuh. A thread marches along an axis with three packs of elements in registers:
// before, at and after its position. To be as fast as a copy, a step must take few instructions.

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "op/stencil/cuda/stencil_boundary.cuh"
#include "op/stencil/cuda/stencil_packs.cuh"
#include "op/stencil/stencil_terms.hpp"

#include <algorithm>
#include <type_traits>

namespace weft::kernels {

/// Prefetch distance in steps. Set with device_bench, rows "laplacian" and "gradient".
inline constexpr unsigned prefetch_steps = 3;

/// The extent of the core along an axis, and the stride of that axis.
struct AxisSpan {
  index_t length = 1;
  index_t stride = 0;
};

/// How blocks of threads cover the core. Threads of a block lie along the last axis, each with a
/// pack of elements, and in several rows along the axis before it; all march along the axis before
/// that. If no stencil lies along that axis, they march along the rows instead, one behind the
/// other.
struct MarchPlan {
  index_t origin;  // offset of the core, without the last axis
  index_t begin;   // the core along the last axis
  index_t end;
  index_t uniform_begin;  // its points with uniform taps along the last axis
  index_t uniform_end;
  index_t extent;  // of the array along the last axis
  AxisSpan rows;
  AxisSpan steps;
  bool along_rows;
  int outer_axes;
  AxisSpan outer[max_dims];
  unsigned column_blocks;
  unsigned row_blocks;
  unsigned blocks;         // along the march
  int length;              // steps of a march
  unsigned thread_stride;  // between threads of adjacent rows of a block
};

/// The taps of the outputs that a kernel computes together, in an order known at compile time, so
/// that they are instruction operands and need no loads. A weight of zero means no tap. Interior
/// taps along the last axis reach no further than `reach`.
template <class T, int outputs, int taps, int reach>
struct CoreStencil {
  static constexpr int places = std::max(taps, 1);

  int count;  // outputs in use
  T* y[outputs];
  // The window: taps one step back along the march, at the point itself, and one step ahead.
  const T* window;
  RealOf<T> around[outputs][3];
  int reads_before;  // 0 or 1
  int reads_after;
  // Other taps across the last axis.
  int others;
  const T* from[places];
  RealOf<T> weight[outputs][places];
  // Taps along it, of at most one output.
  int along_output;  // or -1
  const T* along_from;
  bool along_window;  // they read the input of the window
  StencilTerm<T> along;
  // Inputs other than that of the window.
  int inputs;
  const T* input[outputs > 1 ? 1 : max_dims];
};

/// Blocks per multiprocessor, as many as its registers allow.
constexpr unsigned resident_blocks(int taps) { return taps > 2 ? 2 : 4; }

/// Where a thread starts and how many steps it takes. Addresses are the offset of the block,
/// uniform over its threads, plus a 32-bit number of bytes, which costs no address arithmetic.
template <class T, int width>
struct MarchPath {
  index_t k;      // position along the last axis
  index_t block;  // offset of the block
  unsigned bytes;
  int steps;
  bool exists;  // false if it only completes a warp

  __device__ explicit MarchPath(const MarchPlan& march) {
    unsigned rest = blockIdx.x;
    const auto next = [&](unsigned count) {
      const unsigned number = rest % count;
      rest /= count;
      return static_cast<index_t>(number);
    };
    const index_t first_k = (march.begin / width + next(march.column_blocks) * blockDim.x) * width;
    const index_t row_block = next(march.row_blocks);
    const index_t march_block = next(march.blocks);
    const index_t first_row = march.along_rows ? row_block : row_block * blockDim.y;
    const index_t first_march = march.along_rows ? march_block * blockDim.y : march_block;
    const unsigned row = march.along_rows ? 0 : threadIdx.y;
    const unsigned thread_march = march.along_rows ? threadIdx.y : 0;

    block = march.origin + first_k + first_row * march.rows.stride +
            first_march * march.length * march.steps.stride;
#pragma unroll 1
    for (int axis = 0; axis < march.outer_axes; ++axis) {
      block += next(static_cast<unsigned>(march.outer[axis].length)) * march.outer[axis].stride;
    }
    // Threads beyond the end of the row repeat the last one.
    const index_t columns = (march.end - 1 - first_k) / width;
    const auto column = static_cast<unsigned>(min(index_t{threadIdx.x}, columns));
    exists = threadIdx.x <= columns;
    k = first_k + column * width;
    bytes = (column * width + threadIdx.y * march.thread_stride) * unsigned{sizeof(T)};
    const index_t first = (first_march + thread_march) * march.length;
    steps = first_row + row < march.rows.length
                ? static_cast<int>(min(index_t{march.length}, march.steps.length - first))
                : 0;
  }
};

/// Fetches the elements next to a thread's pack in its row: by shuffles from other lanes of the
/// warp, or from memory where no lane has them.
template <class T, int reach, int width>
struct RowNeighbours {
  bool shuffles;  // every warp lies in one row
  bool loads_before[reach];
  bool loads_after[reach];
  T before[reach] = {};
  T after[reach] = {};

  /// Distance in lanes of the element d before or after the pack.
  static constexpr int hop(int d) { return (d + width - 1) / width; }

  __device__ RowNeighbours(const MarchPlan& march, index_t k) : shuffles(blockDim.x >= warp_lanes) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
    for (int d = 1; d <= reach; ++d) {
      loads_before[d - 1] = k >= d && (!shuffles || lane < hop(d));
      loads_after[d - 1] =
          k + width - 1 + d < march.extent &&
          (!shuffles || lane + hop(d) >= warp_lanes || k + hop(d) * width >= march.end);
    }
  }

  /// Loads what shuffles do not provide, for the pack at x.
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

/// Which elements of its packs a thread stores: all, those in the core, or none.
enum class PackStore : int { whole, in_core, none };

template <class T, int width, class Update>
__device__ void store(const T (&values)[width], T* y, PackStore pack_store, const MarchPlan& march,
                      index_t k, Update update) {
  if (pack_store == PackStore::none) return;
  if (width > 1 && pack_store == PackStore::whole) {
    constexpr bool reads = std::is_same_v<Update, Blended<T>>;
    int4 bits{};
    auto& pack = reinterpret_cast<detail::Pack<T>&>(bits);
    if constexpr (reads) bits = *reinterpret_cast<const int4*>(y);
#pragma unroll
    for (int j = 0; j < width; ++j) update(values[j], pack.at[j]);
    __stcs(reinterpret_cast<int4*>(y), bits);  // leaves the caches to the inputs
    return;
  }
#pragma unroll
  for (int j = 0; j < width; ++j) {
    if (k + j >= march.begin && k + j < march.end) update(values[j], y[j]);
  }
}

/// The taps along the row of a pack near an end of the row. Usually they are interior taps of which
/// some are missing: one bit per tap then replaces loads of weights.
template <class T, int reach, int width>
struct EndTaps {
  static constexpr int span = 2 * reach + 1;
  static constexpr unsigned regular = 1U << 30;    // plus one bit per tap of each element
  static constexpr unsigned irregular = 1U << 31;  // plus one bit per element with other taps
  static_assert(width * span <= 30);
  unsigned bits = 0;  // 0 for packs away from the ends

  __device__ EndTaps(const StencilTerm<T>& term, const MarchPlan& march, index_t k) {
    unsigned places = 0;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      if (k + j < march.uniform_begin || k + j >= march.uniform_end) places |= 1U << j;
    }
    if (places == 0 || term.rows == nullptr) return;
    bits = regular;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const RealOf<T>* row = row_at(term, k + j);
#pragma unroll
      for (int d = -narrow_reach; d <= narrow_reach; ++d) {
        const RealOf<T> weight = __ldg(row + d);
        const bool is_usual = weight == term.interior[stencil_reach + d];
        if (!is_usual && weight != 0) bits |= irregular;
        if (is_usual && d >= -reach && d <= reach) bits |= 1U << (j * span + reach + d);
      }
    }
    if ((bits & irregular) != 0) bits = irregular | places;
  }

  /// Sums over the pack at x and its neighbours in `all`.
  __device__ void sum(const StencilTerm<T>& term, index_t k, const T (&all)[reach + width + reach],
                      const T* x, T (&sums)[width]) const {
    const auto has = [this](int bit) { return (bits >> bit & 1U) != 0; };
    if ((bits & irregular) != 0) {
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
    for (int d = -narrow_reach; d <= narrow_reach; ++d) {
      const RealOf<T> weight = row[d];
      if (weight != 0) sum += weight * x[d];
    }
    return sum;
  }
};

template <int outputs, int taps, int reach, int width, class T, class Update>
__global__ void __launch_bounds__(block_threads, resident_blocks(taps))
    march_kernel(const __grid_constant__ CoreStencil<T, outputs, taps, reach> stencil,
                 const __grid_constant__ MarchPlan march, Update update) {
  const MarchPath<T, width> path(march);
  if (path.steps <= 0) return;
  const bool is_inside = path.k >= march.begin && path.k + width <= march.end;
  PackStore pack_store = !path.exists ? PackStore::none
                         : is_inside  ? PackStore::whole
                                      : PackStore::in_core;
  EndTaps<T, reach, width> ends(stencil.along, march, path.k);
  // Keeps the compiler from recomputing these in every step.
  asm volatile("" : "+r"(reinterpret_cast<int&>(pack_store)), "+r"(ends.bits));
  RowNeighbours<T, reach, width> neighbours(march, path.k);

  const auto at = [&path](auto* array, unsigned bytes) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array)>>,
                                    const unsigned char, unsigned char>;
    return reinterpret_cast<decltype(array)>(reinterpret_cast<Byte*>(array + path.block) + bytes);
  };
  const auto ahead = static_cast<unsigned>(march.steps.stride) * unsigned{sizeof(T)};
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
    neighbours.fetch(at(stencil.along_from, bytes));
  };
  if (stencil.reads_before) load(at(stencil.window - march.steps.stride, bytes), before);
  load(at(stencil.window, bytes), here);
  if (path.steps + stencil.reads_after > 1) load(at(stencil.window, bytes + ahead), after);
  fetch();
#pragma unroll 1
  for (int left = path.steps;; --left) {
    if (left > prefetch_steps) {
      prefetch(stencil.window, bytes + prefetch_steps * ahead);
#pragma unroll 1
      for (int i = 0; i < stencil.inputs; ++i) {
        prefetch(stencil.input[i], bytes + prefetch_steps * ahead);
      }
    }
    T sums[width] = {};
    if (stencil.along_output >= 0) {
      if (stencil.along_window) copy(here, along);
      T all[reach + width + reach];
      neighbours.exchange(along, all);
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
      store(sums, at(stencil.y[i], bytes), pack_store, march, path.k, update);
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
