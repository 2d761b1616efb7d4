#pragma once

// Tiles of consecutive elements, each of which a block of threads looks at.

#include <weft/kernel/cuda/for_each.cuh>

#include "sparse_allreduce/magnitude_keys.hpp"
#include "sparse_allreduce/selection_kernels.hpp"

#include <cstdint>

namespace weft::kernels::tiles {

inline constexpr int threads = 256;
inline constexpr int warps = threads / 32;
/// Consecutive elements of a thread, which are loaded at once, and how often.
inline constexpr int width = 4;
inline constexpr int rounds = static_cast<int>(selection_tile) / (threads * width);
static_assert(rounds * warps == 32 && rounds == 4, "one warp adds up the counts of a tile");

template <class T>
struct alignas(sizeof(T) * width < 16 ? sizeof(T) * width : 16) Quad {
  T at[width];
};

template <class T>
bool has_quads(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(Quad<T>) == 0;
}

/// The first of the elements of this thread in a round.
__device__ inline index_t position(index_t tile, int round) {
  return tile * selection_tile + (round * threads + static_cast<int>(threadIdx.x)) * width;
}

/// Elements i, ..., i + 3, of which those from n on are `none`.
template <class T>
__device__ Quad<T> load(const T* data, index_t i, index_t n, bool quads, T none) {
  if (quads && i + width <= n) return *reinterpret_cast<const Quad<T>*>(data + i);
  Quad<T> quad;
#pragma unroll
  for (int e = 0; e < width; ++e) quad.at[e] = i + e < n ? data[i + e] : none;
  return quad;
}

template <class T>
__device__ void store(T* data, index_t i, index_t n, bool quads, const Quad<T>& quad) {
  if (quads && i + width <= n) {
    *reinterpret_cast<Quad<T>*>(data + i) = quad;
    return;
  }
#pragma unroll
  for (int e = 0; e < width; ++e) {
    if (i + e < n) data[i + e] = quad.at[e];
  }
}

/// How many chosen elements of a tile are before the elements of a thread. Every thread chooses up
/// to `width` in each round; their numbers are in the bytes of a word, which a warp adds up at
/// once.
struct Ranks {
  std::uint32_t in_warp;  // before this lane, per round
  int before[rounds];     // in earlier rounds, and in earlier warps of this round
  int total;

  __device__ int of(int round) const {
    return before[round] + static_cast<int>((in_warp >> (8 * round)) & 0xffU);
  }
};

/// Call it on all threads. `memory` must not be in use by a call before.
__device__ inline Ranks rank_chosen(std::uint32_t counts, int (&memory)[33]) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t sums = counts;
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0U, sums, step);
    if (lane >= step) sums += other;
  }
  if (lane == 31) {
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
      memory[round * warps + static_cast<int>(warp)] =
          static_cast<int>((sums >> (8 * round)) & 0xffU);
    }
  }
  __syncthreads();
  if (warp == 0) {
    const int mine = memory[lane];
    int sum = mine;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(~0U, sum, step);
      if (lane >= step) sum += other;
    }
    memory[lane] = sum - mine;
    if (lane == 31) memory[32] = sum;
  }
  __syncthreads();
  Ranks ranks;
  ranks.in_warp = sums - counts;
#pragma unroll
  for (int round = 0; round < rounds; ++round) {
    ranks.before[round] = memory[round * warps + static_cast<int>(warp)];
  }
  ranks.total = memory[32];
  return ranks;
}

/// For blocks of 1024 threads, all of which call it: the sum of the values of threads before this
/// one, and *total of all.
__device__ inline index_t sum_before(index_t value, index_t (&memory)[33], index_t* total) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  index_t sum = value;
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const index_t other = __shfl_up_sync(~0U, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) memory[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const index_t mine = memory[lane];
    index_t all = mine;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      const index_t other = __shfl_up_sync(~0U, all, step);
      if (lane >= step) all += other;
    }
    memory[lane] = all - mine;
    if (lane == 31) memory[32] = all;
  }
  __syncthreads();
  *total = memory[32];
  const index_t before = memory[warp] + sum - value;
  __syncthreads();
  return before;
}

/// Replaces every `stride`-th number by the sum of those before it; returns the sum of all. For one
/// block of 1024 threads.
__device__ inline index_t replace_by_sums(index_t count, index_t stride, index_t* numbers,
                                          index_t (&memory)[33]) {
  const index_t share = (count + blockDim.x - 1) / blockDim.x;
  const index_t begin = min(count, share * static_cast<index_t>(threadIdx.x));
  const index_t end = min(count, begin + share);
  index_t mine = 0;
#pragma unroll 8
  for (index_t i = begin; i < end; ++i) mine += numbers[i * stride];
  index_t total = 0;
  index_t sum = sum_before(mine, memory, &total);
#pragma unroll 8
  for (index_t i = begin; i < end; ++i) {
    const index_t number = numbers[i * stride];
    numbers[i * stride] = sum;
    sum += number;
  }
  return total;
}

/// Where the elements of a list go and which of them there is room for.
template <class W>
struct ListWriter {
  index_t* index;
  W* value;
  index_t capacity;

  __device__ bool put(index_t at, index_t i, W x) const {
    if (at >= capacity) return false;
    index[at] = i;
    value[at] = x;
    return true;
  }
};

template <class W>
ListWriter<W> writer(const SelectedList& list) {
  return {list.index, static_cast<W*>(list.value), list.capacity};
}

/// Calls f with a number of this type, f32 or f64.
template <class F>
void with_work(DType work, F f) {
  if (work == DType::f64) {
    f(double{});
  } else {
    f(float{});
  }
}

}  // namespace weft::kernels::tiles
