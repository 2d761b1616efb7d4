// Lists of what a rule takes, on a GPU: tiles are counted, and then write to where the counts of
// those before them end.

#include <weft/kernel/reduce.hpp>

#include "sparse_allreduce/counted_loops.hpp"
#include "sparse_allreduce/cuda/tiles.cuh"

#include <limits>

namespace weft::kernels {
namespace {

using detail::KeyOf;
using detail::magnitude_key;
using tiles::rounds;
using tiles::width;

template <class W>
struct Selection {
  const W* value;
  const index_t* index;  // null if `value` is an array
  Count n;
  const index_t* range;  // of the array; null for all of it
  index_t base;
  bool quads;
  KeyOf<W> left_out;
  const SelectionRule* rule;
  index_t* tallies;  // per tile: keys above that of the rule, and ties
  index_t* total;

  __device__ index_t index_of(index_t i) const { return index != nullptr ? index[i] : i + base; }
  __device__ index_t begin() const { return range == nullptr ? 0 : range[0]; }
  __device__ index_t end() const { return range == nullptr ? n.now() : range[1]; }
  /// Whether any element of a tile is to be looked at.
  __device__ bool has(index_t tile) const {
    return tile * selection_tile < end() && (tile + 1) * selection_tile > begin();
  }
};

/// What a thread finds in its elements of a tile: bit width * round + number.
template <class W>
struct Taken {
  tiles::Quad<W> value[rounds];
  std::uint32_t above = 0;
  std::uint32_t ties = 0;

  __device__ Taken(const Selection<W>& work, const SelectionRule& rule, index_t tile) {
    const auto threshold = static_cast<KeyOf<W>>(rule.key);
    const bool all_indices = rule.last_index == std::numeric_limits<index_t>::max();
    const index_t begin = work.begin();
    const index_t end = work.end();
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      value[r] = tiles::load(work.value, tiles::position(tile, r), work.n.most, work.quads, W{});
    }
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
      for (int e = 0; e < width; ++e) {
        const index_t i = tiles::position(tile, r) + e;
        const W x = value[r].at[e];
        const std::uint32_t bit = 1U << (width * r + e);
        if (i < begin || i >= end || magnitude_key(x) < threshold) continue;
        if (magnitude_key(x) > threshold) {
          above |= bit;
        } else if (std::bit_cast<KeyOf<W>>(x) != work.left_out &&
                   (all_indices || work.index_of(i) <= rule.last_index)) {
          ties |= bit;
        }
      }
    }
  }
  /// A byte per round.
  __device__ static std::uint32_t counts(std::uint32_t bits) {
    std::uint32_t packed = 0;
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      packed |= static_cast<std::uint32_t>(__popc((bits >> (width * r)) & 0xfU)) << (8 * r);
    }
    return packed;
  }
};

template <class W>
__global__ void __launch_bounds__(tiles::threads) tally_kernel(Selection<W> work) {
  const index_t tile = blockIdx.x;
  if (!work.has(tile)) {
    if (threadIdx.x < 2) work.tallies[2 * tile + threadIdx.x] = 0;
    return;
  }
  const SelectionRule rule = *work.rule;
  const Taken<W> mine(work, rule, tile);
  __shared__ int above;
  __shared__ int ties;
  if (threadIdx.x == 0) above = ties = 0;
  __syncthreads();
  const unsigned many = __reduce_add_sync(~0U, static_cast<unsigned>(__popc(mine.above)));
  const unsigned equal = __reduce_add_sync(~0U, static_cast<unsigned>(__popc(mine.ties)));
  if (threadIdx.x % 32 == 0) {
    if (many != 0) atomicAdd(&above, static_cast<int>(many));
    if (equal != 0) atomicAdd(&ties, static_cast<int>(equal));
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  work.tallies[2 * tile] = above;
  work.tallies[2 * tile + 1] = ties;
}

__global__ void __launch_bounds__(1024)
    sum_tallies_kernel(index_t count, index_t* tallies, const SelectionRule* rule, index_t* total) {
  __shared__ index_t memory[33];
  const index_t above = tiles::replace_by_sums(count, 2, tallies, memory);
  const index_t ties = tiles::replace_by_sums(count, 2, tallies + 1, memory);
  if (threadIdx.x == 0) *total = above + min(ties, rule->ties);
}

template <class W>
__global__ void __launch_bounds__(tiles::threads)
    list_kernel(Selection<W> work, tiles::ListWriter<W> out, W* zeroed) {
  const index_t tile = blockIdx.x;
  if (!work.has(tile)) return;
  const SelectionRule rule = *work.rule;
  const index_t above_before = work.tallies[2 * tile];
  const index_t ties_before = work.tallies[2 * tile + 1];
  const bool last = tile + 1 == gridDim.x;
  if (!last && work.tallies[2 * tile + 2] == above_before &&
      (work.tallies[2 * tile + 3] == ties_before || ties_before >= rule.ties)) {
    return;  // the tile has nothing
  }
  __shared__ int memory[2][33];
  const Taken<W> mine(work, rule, tile);
  const tiles::Ranks above = tiles::rank_chosen(Taken<W>::counts(mine.above), memory[0]);
  const tiles::Ranks ties = tiles::rank_chosen(Taken<W>::counts(mine.ties), memory[1]);
#pragma unroll
  for (int r = 0; r < rounds; ++r) {
    index_t larger = above_before + above.of(r);
    index_t equal = ties_before + ties.of(r);
#pragma unroll
    for (int e = 0; e < width; ++e) {
      const bool is_above = (mine.above >> (width * r + e) & 1U) != 0;
      const bool is_tie = (mine.ties >> (width * r + e) & 1U) != 0;
      if (is_above || (is_tie && equal < rule.ties)) {
        const index_t i = work.index_of(tiles::position(tile, r) + e);
        const index_t at = larger + min(equal, rule.ties);
        if (out.put(at, i, mine.value[r].at[e]) && zeroed != nullptr) zeroed[i] = W{};
      }
      larger += is_above ? 1 : 0;
      equal += is_tie ? 1 : 0;
    }
  }
}

template <class W>
void select_typed(Cuda device, const Candidates& from, index_t base, const SelectionRule* rule,
                  index_t* tallies, const SelectedList& list, index_t* count, W* zeroed) {
  Selection<W> work;
  work.value = static_cast<const W*>(from.value);
  work.index = from.index;
  work.n = from.n;
  work.range = from.range;
  work.base = base;
  work.quads = tiles::has_quads(work.value);
  work.left_out = from.touched ? static_cast<KeyOf<W>>(~detail::magnitude_mask<W>) : ~KeyOf<W>{0};
  work.rule = rule;
  work.tallies = tallies;
  const cudaStream_t stream = detail::stream_of(device);
  const index_t all = selection_tiles(from.n.most);
  const auto blocks = static_cast<unsigned>(all);
  if (blocks > 0) tally_kernel<W><<<blocks, tiles::threads, 0, stream>>>(work);
  sum_tallies_kernel<<<1, 1024, 0, stream>>>(all, tallies, rule, count);
  if (blocks > 0) {
    list_kernel<W><<<blocks, tiles::threads, 0, stream>>>(work, tiles::writer<W>(list), zeroed);
  }
  detail::check_cuda_launch();
}

/// Thresholds that are counted in one pass.
constexpr int counted_steps = 16;

template <class W>
struct RaisedThreshold {
  W at;
  double factor;

  __device__ void raise() { at = static_cast<W>(static_cast<double>(at) * factor); }
};

__global__ void clear_counts_kernel(unsigned long long* counts) { counts[threadIdx.x] = 0; }

/// counts[s] = how many elements reach the threshold after s steps. The list has only elements that
/// reached it before.
template <class W>
__global__ void __launch_bounds__(tiles::threads)
    count_steps_kernel(Count all, index_t most, int steps, double factor, const double* threshold,
                       const W* value, unsigned long long* counts) {
  const index_t count = all.now();
  if (count <= most) return;
  const index_t step = static_cast<index_t>(gridDim.x) * tiles::threads;
  RaisedThreshold<W> raised = {static_cast<W>(*threshold), factor};
  for (int s = 0; s < steps; ++s) {
    unsigned mine = 0;
    for (index_t i = static_cast<index_t>(blockIdx.x) * tiles::threads + threadIdx.x; i < count;
         i += step) {
      mine += magnitude_key(value[i]) >= magnitude_key(raised.at) ? 1U : 0U;
    }
    mine = __reduce_add_sync(~0U, mine);
    if (threadIdx.x % 32 == 0 && mine != 0)
      atomicAdd(&counts[s], static_cast<unsigned long long>(mine));
    raised.raise();
  }
}

template <class W>
__global__ void choose_step_kernel(Count count, index_t most, int steps, double factor,
                                   const unsigned long long* counts, double* threshold) {
  if (count.now() <= most) return;
  RaisedThreshold<W> raised = {static_cast<W>(*threshold), factor};
  for (int s = 0; s < steps; ++s) {
    if (static_cast<index_t>(counts[s]) <= most) break;
    raised.raise();
  }
  *threshold = static_cast<double>(raised.at);
}

template <class W>
void raise_typed(Cuda device, const W* value, Count count, index_t most, int steps, double factor,
                 double* threshold) {
  const cudaStream_t stream = detail::stream_of(device);
  auto* counts = static_cast<unsigned long long*>(detail::cuda_scratch().partials);
  static_assert(counted_steps * sizeof(*counts) <= detail::cuda_partial_bytes);
  const unsigned blocks = detail::reduce_blocks(count.most);
  do {
    const int now = min(steps, counted_steps);
    clear_counts_kernel<<<1, counted_steps, 0, stream>>>(counts);
    count_steps_kernel<<<blocks, tiles::threads, 0, stream>>>(count, most, now, factor, threshold,
                                                              value, counts);
    choose_step_kernel<W><<<1, 1, 0, stream>>>(count, most, now, factor, counts, threshold);
    steps -= now;
  } while (steps > 0);
  detail::check_cuda_launch();
}

/// One block.
template <class W>
__global__ void __launch_bounds__(1024)
    raise_short_kernel(Raising work, tiles::ListWriter<W> kept) {
  __shared__ index_t memory[33];
  const index_t count = work.count.now();
  const index_t* const index = work.list.index;
  const W* const value = static_cast<const W*>(work.list.value);
  W* const residual = static_cast<W*>(work.residual);
  double threshold = *work.threshold;
  if (count > work.most) {
    RaisedThreshold<W> raised = {static_cast<W>(threshold), work.factor};
    for (int s = 0; s < work.steps; ++s) {
      index_t mine = 0;
      for (index_t i = threadIdx.x; i < count; i += 1024) {
        mine += magnitude_key(value[i]) >= magnitude_key(raised.at) ? 1 : 0;
      }
      index_t all = 0;
      tiles::sum_before(mine, memory, &all);
      if (all <= work.most) break;  // on all threads
      raised.raise();
    }
    threshold = static_cast<double>(raised.at);
  }
  const KeyOf<W> least = detail::key_above_zero<W>(threshold);
  index_t at = 0;
  for (index_t first = 0; first < count; first += 1024) {
    const index_t i = first + threadIdx.x;
    const bool present = i < count;
    const W x = present ? value[i] : W{};
    const bool stays = present && magnitude_key(x) >= least;
    index_t all = 0;
    const index_t place = at + tiles::sum_before(stays ? 1 : 0, memory, &all);
    if (stays) {
      kept.put(place, index[i], x);
    } else if (present) {
      residual[index[i]] = x;
    }
    at += all;
  }
  __syncthreads();  // all threads have read the count and the threshold
  if (threadIdx.x != 0) return;
  *work.kept_count = at;
  *work.threshold = threshold;
}

template <class W>
void count_reaching_typed(Cuda device, index_t n, const W* value, const SelectionRule* rule,
                          index_t* count) {
  reduce_into(
      device, n, index_t{0},
      [=] __device__(index_t i) {
        return index_t{magnitude_key(value[i]) >= static_cast<KeyOf<W>>(rule->key) ? 1 : 0};
      },
      [] __device__(index_t a, index_t b) { return a + b; }, count);
}

template <class W>
void moments_typed(Cuda device, index_t n, const W* x, double* sums) {
  const auto add = [] __device__(double a, double b) { return a + b; };
  reduce_into(
      device, n, 0.0, [=] __device__(index_t i) { return static_cast<double>(x[i]); }, add, sums);
  reduce_into(
      device, n, 0.0,
      [=] __device__(index_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); },
      add, sums + 1);
}

template <class W>
void put_back_typed(Cuda device, const SelectedList& list, Count count, W* to) {
  const index_t* index = list.index;
  const W* value = static_cast<const W*>(list.value);
  for_count(device, count, [=] __device__(index_t i) { to[index[i]] = value[i]; });
}

}  // namespace

template <class Device>
void select(Device device, const Candidates& from, index_t base, const SelectionRule* rule,
            index_t* tallies, const SelectedList& list, index_t* count, void* zeroed) {
  tiles::with_work(from.work, [&](auto w) {
    using W = decltype(w);
    select_typed<W>(device, from, base, rule, tallies, list, count, static_cast<W*>(zeroed));
  });
}

template <class Device>
void raise_threshold(Device device, DType work, const SelectedList& list, Count count, index_t most,
                     int steps, double factor, double* threshold) {
  tiles::with_work(work, [&](auto w) {
    using W = decltype(w);
    raise_typed<W>(device, static_cast<const W*>(list.value), count, most, steps, factor,
                   threshold);
  });
}

template <class Device>
void raise_short(Device device, const Raising& work) {
  tiles::with_work(work.work, [&](auto w) {
    using W = decltype(w);
    raise_short_kernel<W>
        <<<1, 1024, 0, detail::stream_of(device)>>>(work, tiles::writer<W>(work.kept));
  });
  detail::check_cuda_launch();
}

template <class Device>
void count_reaching(Device device, DType work, index_t n, const void* values,
                    const SelectionRule* rule, index_t* count) {
  tiles::with_work(work, [&](auto w) {
    count_reaching_typed(device, n, static_cast<const decltype(w)*>(values), rule, count);
  });
}

template <class Device>
void moments(Device device, DType work, index_t n, const void* values, double* sums) {
  tiles::with_work(work, [&](auto w) {
    moments_typed(device, n, static_cast<const decltype(w)*>(values), sums);
  });
}

template <class Device>
void put_back(Device device, DType work, const SelectedList& list, Count count, void* values) {
  tiles::with_work(work, [&](auto w) {
    put_back_typed(device, list, count, static_cast<decltype(w)*>(values));
  });
}

template void select(Cuda, const Candidates&, index_t, const SelectionRule*, index_t*,
                     const SelectedList&, index_t*, void*);
template void raise_threshold(Cuda, DType, const SelectedList&, Count, index_t, int, double,
                              double*);
template void raise_short(Cuda, const Raising&);
template void count_reaching(Cuda, DType, index_t, const void*, const SelectionRule*, index_t*);
template void moments(Cuda, DType, index_t, const void*, double*);
template void put_back(Cuda, DType, const SelectedList&, Count, void*);

}  // namespace weft::kernels
