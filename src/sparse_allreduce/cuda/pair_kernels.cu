// The kernels of pairs that are no plain loops, on a GPU.

#include "sparse_allreduce/pair_kernels.hpp"

#include "sparse_allreduce/counted_loops.hpp"
#include "sparse_allreduce/cuda/tiles.cuh"
#include "sparse_allreduce/wire_pair.hpp"

#include <utility>

namespace weft::kernels {
namespace {

using detail::with_pair;

constexpr int block_threads = 1024;

/// One block per owner. `before` counts the pairs of each owner, or else they are copied to where
/// those of the owners before end.
template <class Pair>
__global__ void __launch_bounds__(block_threads)
    split_cyclic_kernel(const Pair* from, Count all_pairs, int ranks, index_t block,
                        index_t* offsets, Pair* sorted, bool counts) {
  __shared__ index_t memory[33];
  const index_t count = all_pairs.now();
  const index_t owner = blockIdx.x;
  index_t at = counts ? 0 : offsets[owner];
  for (index_t first = 0; first < count; first += block_threads) {
    const index_t i = first + threadIdx.x;
    const bool mine = i < count && (from[i].at() / block) % ranks == owner;
    index_t all = 0;
    const index_t place = at + tiles::sum_before(mine ? 1 : 0, memory, &all);
    if (mine && !counts) sorted[place] = from[i];
    at += all;
  }
  if (counts && threadIdx.x == 0) offsets[owner] = at;
}

__global__ void sum_offsets_kernel(int ranks, Count count, index_t* offsets) {
  index_t sum = 0;
  for (int r = 0; r < ranks; ++r) {
    const index_t mine = offsets[r];
    offsets[r] = sum;
    sum += mine;
  }
  offsets[ranks] = count.now();
}

/// How many of sorted elements are before `wanted`; also those that are equal, if `or_equal`.
template <class IndexAt>
__device__ index_t count_before(index_t count, index_t wanted, bool or_equal, IndexAt index_at) {
  index_t first = 0;
  while (count > 0) {
    const index_t half = count / 2;
    const index_t index = index_at(first + half);
    const bool before = index < wanted || (or_equal && index == wanted);
    first = before ? first + half + 1 : first;
    count = before ? count - half - 1 : half;
  }
  return first;
}

/// Merges sorted runs of `width` pairs: a pair goes to its place in its run plus the number of
/// pairs in the other run that are before it.
template <class Pair>
void merge_runs(Cuda device, Count all, index_t width, const Pair* from, Pair* to) {
  for_count(device, all, [=] __device__(index_t i) {
    const index_t count = all.now();
    const index_t run = i / width;
    const index_t begin = run * width;
    const bool left = run % 2 == 0;
    const index_t other = left ? begin + width : begin - width;
    const index_t other_count = max(index_t{0}, min(width, count - other));
    // Stable: the left one of equal pairs is first.
    const index_t before = count_before(other_count, from[i].at(), !left,
                                        [=](index_t j) { return from[other + j].at(); });
    to[(left ? begin : other) + (i - begin) + before] = from[i];
  });
}

template <class Pair>
void copy_pairs(Cuda device, Count count, const Pair* from, Pair* to) {
  for_count(device, count, [=] __device__(index_t i) { to[i] = from[i]; });
}

template <class Pair>
void sort_typed(Cuda device, Count count, Pair* pairs, Pair* other) {
  Pair* from = pairs;
  Pair* to = other;
  for (index_t width = 1; width < count.most; width *= 2) {
    merge_runs(device, count, width, from, to);
    std::swap(from, to);
  }
  if (from != pairs) copy_pairs(device, count, from, pairs);
}

/// All elements of a list and of pairs by index, where of equal ones that of the list is first.
template <class Pair>
void interleave(Cuda device, const SelectedList& first, index_t first_count, const Pair* second,
                index_t second_count, const SelectedList& merged) {
  using W = typename Pair::Wide;
  const index_t* index = first.index;
  const W* value = static_cast<const W*>(first.value);
  index_t* to = merged.index;
  W* to_value = static_cast<W*>(merged.value);
  for_each(device, first_count, [=] __device__(index_t i) {
    const index_t at =
        i + count_before(second_count, index[i], false, [=](index_t j) { return second[j].at(); });
    to[at] = index[i];
    to_value[at] = value[i];
  });
  for_each(device, second_count, [=] __device__(index_t i) {
    const index_t at =
        i + count_before(first_count, second[i].at(), true, [=](index_t j) { return index[j]; });
    to[at] = second[i].at();
    to_value[at] = second[i].number();
  });
}

/// Adds up neighbours of equal index, in place: one block goes through the list, and writes no
/// further than it has read.
template <class W>
__global__ void __launch_bounds__(block_threads)
    add_neighbours_kernel(index_t count, index_t* index, W* value, index_t* length) {
  __shared__ index_t memory[33];
  index_t at = 0;
  index_t previous = -1;  // the last index of the part before, which may have been overwritten
  for (index_t first = 0; first < count; first += block_threads) {
    const index_t i = first + threadIdx.x;
    const index_t mine = i < count ? index[i] : -1;
    const bool second = mine == (threadIdx.x == 0 ? previous : i <= count ? index[i - 1] : -1);
    const bool kept = i < count && !second;
    W sum = i < count ? value[i] : W{};
    if (kept && i + 1 < count && index[i + 1] == mine) sum += value[i + 1];
    const index_t last = first + block_threads - 1 < count ? index[first + block_threads - 1] : -1;
    index_t all = 0;
    const index_t place = at + tiles::sum_before(kept ? 1 : 0, memory, &all);
    // All threads have read before any writes; see sum_before().
    if (kept) {
      index[place] = mine;
      value[place] = sum;
    }
    previous = last;
    at += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) *length = at;
}

}  // namespace

template <class Device>
void split_cyclic(Device device, PairTypes types, const void* pairs, Count count, int ranks,
                  index_t block, index_t* offsets, void* sorted) {
  const cudaStream_t stream = detail::stream_of(device);
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    const auto* from = static_cast<const Pair*>(pairs);
    auto* to = static_cast<Pair*>(sorted);
    const auto blocks = static_cast<unsigned>(ranks);
    split_cyclic_kernel<<<blocks, block_threads, 0, stream>>>(from, count, ranks, block, offsets,
                                                              to, true);
    sum_offsets_kernel<<<1, 1, 0, stream>>>(ranks, count, offsets);
    split_cyclic_kernel<<<blocks, block_threads, 0, stream>>>(from, count, ranks, block, offsets,
                                                              to, false);
  });
  detail::check_cuda_launch();
}

template <class Device>
void sort_pairs(Device device, PairTypes types, Count count, void* pairs, void* other) {
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    sort_typed(device, count, static_cast<Pair*>(pairs), static_cast<Pair*>(other));
  });
}

template <class Device>
void merge_pairs(Device device, PairTypes types, const SelectedList& first, index_t first_count,
                 const void* second, index_t second_count, const SelectedList& merged,
                 index_t* length) {
  with_pair(types, [&](auto pair) {
    using Pair = decltype(pair);
    using W = typename Pair::Wide;
    interleave(device, first, first_count, static_cast<const Pair*>(second), second_count, merged);
    add_neighbours_kernel<<<1, block_threads, 0, detail::stream_of(device)>>>(
        first_count + second_count, merged.index, static_cast<W*>(merged.value), length);
  });
  detail::check_cuda_launch();
}

template void split_cyclic(Cuda, PairTypes, const void*, Count, int, index_t, index_t*, void*);
template void sort_pairs(Cuda, PairTypes, Count, void*, void*);
template void merge_pairs(Cuda, PairTypes, const SelectedList&, index_t, const void*, index_t,
                          const SelectedList&, index_t*);

}  // namespace weft::kernels
