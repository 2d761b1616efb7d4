// Error feedback and selection in one pass on a GPU. A block adds a tile of the gradient to the
// residual, with all loads in flight at once, and stages what it selects in the order of indices.

#include "sparse_allreduce/accumulation_kernels.hpp"
#include "sparse_allreduce/cuda/tiles.cuh"

#include <type_traits>

namespace weft::kernels {
namespace {

using detail::first_bad_key;
using detail::KeyOf;
using detail::magnitude_key;
using tiles::Quad;
using tiles::rounds;
using tiles::width;

template <class T>
using WorkOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class F>
void with_gradient(DType dtype, F f) {
  switch (dtype) {
    case DType::f16: return f(Half{});
    case DType::bf16: return f(BFloat16{});
    case DType::f32: return f(float{});
    default: return f(double{});
  }
}

__global__ void no_bad_elements(BadElements* bad) { *bad = {}; }

/// Integers, whose sums and minima do not depend on the order. -1 is the largest unsigned number.
__device__ void note_bad(BadElements* bad, index_t i) {
  static_assert(sizeof(index_t) == sizeof(unsigned long long));
  atomicAdd(reinterpret_cast<unsigned long long*>(&bad->count), 1ULL);
  atomicMin(reinterpret_cast<unsigned long long*>(&bad->first), static_cast<unsigned long long>(i));
}

/// The elements of a thread, and which of them are selected: bit width * round + number.
template <class T>
struct ThreadElements {
  using W = WorkOf<T>;
  Quad<W> sum[rounds];
  std::uint32_t selected = 0;

  __device__ void load(const Accumulation& work, index_t tile, bool quads) {
    Quad<T> gradient[rounds];
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      const index_t i = tiles::position(tile, r);
      gradient[r] = tiles::load(static_cast<const T*>(work.gradient), i, work.n, quads, T(0.0F));
      sum[r] = tiles::load(static_cast<const W*>(work.residual), i, work.n, quads, W{});
    }
    const auto decay = static_cast<W>(work.decay);
    // A bad element is never selected.
    const auto threshold = static_cast<KeyOf<W>>(
        work.rule->key < first_bad_key<W> ? work.rule->key : first_bad_key<W>);
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
      for (int e = 0; e < width; ++e) {
        const index_t i = tiles::position(tile, r) + e;
        const W x = decay * sum[r].at[e] + static_cast<W>(gradient[r].at[e]);
        if (magnitude_key(x) < first_bad_key<W>) {
          sum[r].at[e] = x;
        } else if (i < work.n) {
          note_bad(work.all_bad, i);
        }
        if (i < work.n && magnitude_key(sum[r].at[e]) >= threshold) {
          selected |= 1U << (width * r + e);
        }
      }
    }
  }
  /// Numbers of selected elements, a byte per round.
  __device__ std::uint32_t counts() const {
    std::uint32_t packed = 0;
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      packed |= static_cast<std::uint32_t>(__popc((selected >> (width * r)) & 0xfU)) << (8 * r);
    }
    return packed;
  }
  __device__ void stage(const Staging& staging, index_t tile, const tiles::Ranks& ranks) const {
    index_t* const index = staging.index + tile * staged_per_tile;
    W* const value = static_cast<W*>(staging.value) + tile * staged_per_tile;
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      int at = ranks.of(r);
#pragma unroll
      for (int e = 0; e < width; ++e) {
        if ((selected >> (width * r + e) & 1U) == 0) continue;
        index[at] = tiles::position(tile, r) + e;
        value[at] = sum[r].at[e];
        ++at;
      }
    }
  }
  __device__ void store(const Accumulation& work, index_t tile, bool quads, bool take) {
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
      for (int e = 0; e < width; ++e) {
        if (take && (selected >> (width * r + e) & 1U) != 0) sum[r].at[e] = W{};
      }
      tiles::store(static_cast<W*>(work.residual), tiles::position(tile, r), work.n, quads, sum[r]);
    }
  }
};

template <class T>
__global__ void __launch_bounds__(tiles::threads, 3)
    accumulate_kernel(Accumulation work, bool quads) {
  __shared__ int memory[33];
  const index_t tile = blockIdx.x;
  ThreadElements<T> mine;
  mine.load(work, tile, quads);
  const tiles::Ranks ranks = tiles::rank_chosen(mine.counts(), memory);
  const bool fits = ranks.total <= staged_per_tile;
  if (fits) mine.stage(work.staging, tile, ranks);
  mine.store(work, tile, quads, work.take && fits);
  if (threadIdx.x == 0) work.staging.count[tile] = ranks.total;
}

__global__ void __launch_bounds__(1024)
    sum_tiles_kernel(index_t count, index_t* counts, index_t* total) {
  __shared__ index_t memory[33];
  const index_t all = tiles::replace_by_sums(count, 1, counts, memory);
  if (threadIdx.x == 0) *total = all;
}

struct Collection {
  index_t n;
  bool take;
  const SelectionRule* rule;
  Staging staging;
  const index_t* total;
};

/// Reads a tile again of which too much was selected.
template <class W>
__device__ void select_again(const Collection& work, index_t tile, index_t at, W* values,
                             const tiles::ListWriter<W>& out) {
  const unsigned lane = threadIdx.x % 32;
  const auto threshold = static_cast<KeyOf<W>>(work.rule->key);
  const index_t end = min(work.n, (tile + 1) * selection_tile);
  for (index_t begin = tile * selection_tile; begin < end; begin += 32) {
    const index_t i = begin + lane;
    const W x = i < end ? values[i] : W{};
    const bool taken = i < end && magnitude_key(x) >= threshold;
    const unsigned all = __ballot_sync(~0U, taken);
    if (taken && out.put(at + __popc(all & ((1U << lane) - 1)), i, x) && work.take) values[i] = W{};
    at += __popc(all);
  }
}

/// One warp per tile.
template <class W>
__global__ void __launch_bounds__(tiles::threads)
    collect_kernel(Collection work, W* values, tiles::ListWriter<W> out) {
  const index_t tile = static_cast<index_t>(blockIdx.x) * tiles::warps + threadIdx.x / 32;
  const index_t all = selection_tiles(work.n);
  if (tile >= all) return;
  const index_t first = work.staging.count[tile];
  const index_t count = (tile + 1 < all ? work.staging.count[tile + 1] : *work.total) - first;
  if (count > staged_per_tile) return select_again(work, tile, first, values, out);
  const index_t* const index = work.staging.index + tile * staged_per_tile;
  const W* const value = static_cast<const W*>(work.staging.value) + tile * staged_per_tile;
  for (index_t c = threadIdx.x % 32; c < count; c += 32) {
    if (!out.put(first + c, index[c], value[c]) && work.take) values[index[c]] = value[c];
  }
}

/// out[i] = decay * residual[i * stride] + gradient[i * stride], or 0.
template <class T>
void sample_typed(Cuda device, const Accumulation& work, index_t count, index_t stride, void* out) {
  using W = WorkOf<T>;
  const auto* gradient = static_cast<const T*>(work.gradient);
  const auto* residual = static_cast<const W*>(work.residual);
  const auto decay = static_cast<W>(work.decay);
  auto* sampled = static_cast<W*>(out);
  for_each(device, count, [=] __device__(index_t i) {
    const W sum = decay * residual[i * stride] + static_cast<W>(gradient[i * stride]);
    sampled[i] = magnitude_key(sum) < first_bad_key<W> ? sum : W{};
  });
}

}  // namespace

template <class Device>
void accumulate(Device device, const Accumulation& work) {
  const cudaStream_t stream = detail::stream_of(device);
  no_bad_elements<<<1, 1, 0, stream>>>(work.all_bad);
  with_gradient(work.dtype, [&](auto t) {
    using T = decltype(t);
    const bool quads = tiles::has_quads(static_cast<const T*>(work.gradient)) &&
                       tiles::has_quads(static_cast<const WorkOf<T>*>(work.residual));
    const auto blocks = static_cast<unsigned>(selection_tiles(work.n));
    accumulate_kernel<T><<<blocks, tiles::threads, 0, stream>>>(work, quads);
  });
  detail::check_cuda_launch();
}

template <class Device>
void count_staged(Device device, index_t n, const Staging& staging, index_t* total) {
  sum_tiles_kernel<<<1, 1024, 0, detail::stream_of(device)>>>(selection_tiles(n), staging.count,
                                                              total);
  detail::check_cuda_launch();
}

template <class Device>
void collect(Device device, DType work, index_t n, void* values, bool take,
             const SelectionRule* rule, const Staging& staging, const SelectedList& list,
             const index_t* total) {
  const Collection collection = {n, take, rule, staging, total};
  const auto blocks = static_cast<unsigned>((selection_tiles(n) + tiles::warps - 1) / tiles::warps);
  tiles::with_work(work, [&](auto w) {
    using W = decltype(w);
    collect_kernel<W><<<blocks, tiles::threads, 0, detail::stream_of(device)>>>(
        collection, static_cast<W*>(values), tiles::writer<W>(list));
  });
  detail::check_cuda_launch();
}

template <class Device>
void sample(Device device, const Accumulation& work, index_t count, index_t stride, void* out) {
  with_gradient(work.dtype,
                [&](auto t) { sample_typed<decltype(t)>(device, work, count, stride, out); });
}

template void accumulate(Cuda, const Accumulation&);
template void count_staged(Cuda, index_t, const Staging&, index_t*);
template void collect(Cuda, DType, index_t, void*, bool, const SelectionRule*, const Staging&,
                      const SelectedList&, const index_t*);
template void sample(Cuda, const Accumulation&, index_t, index_t, void*);

}  // namespace weft::kernels
