// Slots on a GPU. The numbers of pairs are in memory of the device alone, so threads of a fixed
// grid go through as many pairs as there are.

#include "sparse_allreduce/slot_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "sparse_allreduce/wire_pair.hpp"

#include <algorithm>
#include <cstddef>

namespace weft::kernels {
namespace {

using detail::with_pair;

constexpr int block_threads = 256;
constexpr index_t most_blocks = 528;  // four per multiprocessor of an H200
constexpr int one_block = 1024;
/// Pairs that one block adds up faster than kernels can be launched one after the other.
constexpr index_t most_of_one_block = 8 * one_block;

unsigned blocks_for(index_t most) {
  return static_cast<unsigned>(
      std::clamp<index_t>((most + block_threads - 1) / block_threads, 1, most_blocks));
}

/// What kernels see of slots; Slots::bytes() is for the host.
struct SlotView {
  std::byte* data;
  index_t bytes;
  int ranks;

  explicit SlotView(const Slots& slots)
      : data(static_cast<std::byte*>(slots.data)), bytes(slots.bytes()), ranks(slots.ranks) {}

  __device__ SlotHeader* header(int rank) const {
    return reinterpret_cast<SlotHeader*>(data + rank * bytes);
  }
  template <class Pair>
  __device__ Pair* pairs(int rank) const {
    return reinterpret_cast<Pair*>(header(rank) + 1);
  }
};

/// Calls f(i) for the elements i < count of this thread.
template <class F>
__device__ void for_own(index_t count, F f) {
  const index_t step = static_cast<index_t>(gridDim.x) * block_threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * block_threads + threadIdx.x; i < count;
       i += step) {
    f(i);
  }
}

/// Which of `count` pairs are in a slot: numbers start, start + 1, ... modulo count, in order.
struct Window {
  index_t count;
  index_t kept;
  index_t start;
  index_t wrapped;  // pairs 0, ..., wrapped - 1 are kept, too

  __device__ Window(index_t all, index_t capacity, index_t begin)
      : count(all),
        kept(min(all, capacity)),
        start(all > capacity ? begin % all : 0),
        wrapped(max(index_t{0}, start + kept - all)) {}

  /// The place in the slot, or -1.
  __device__ index_t place(index_t i) const {
    if (i < wrapped) return i;
    return i >= start && i < start + kept ? i - start + wrapped : -1;
  }
};

/// SlotFilling with its types.
template <class Pair>
struct Filling {
  using W = typename Pair::Wide;
  SlotView slots;
  index_t capacity;
  const Pair* pairs;
  const index_t* offsets;
  const index_t* call;
  const BadElements* bad;
  W* residual;
  index_t* overflow;
  index_t* sent;
  int own;
  const index_t* refused;
  bool has_sums;
  const W* sums;
  W divisor;

  explicit Filling(const SlotFilling& work)
      : slots(work.slots),
        capacity(work.slots.capacity),
        pairs(static_cast<const Pair*>(work.pairs)),
        offsets(work.offsets),
        call(work.call),
        bad(work.bad),
        residual(static_cast<W*>(work.residual)),
        overflow(work.overflow),
        sent(work.sent),
        own(work.own),
        refused(work.refused),
        has_sums(work.sums != nullptr),
        sums(has_sums ? static_cast<const W*>(work.sums->value) : nullptr),
        divisor(static_cast<W>(work.divisor)) {}

  __device__ Window window(int rank) const {
    return Window(offsets[rank + 1] - offsets[rank], capacity,
                  first_in_slot(*call, capacity, has_sums));
  }
  __device__ void leave_out(index_t i) const {
    const Pair pair = pairs[i];
    if (!has_sums) {
      residual[pair.at()] += pair.number();
    } else if (sizeof(typename Pair::Value) == 2 && *refused == 0) {
      residual[pair.at()] -= sums[i] - pair.number() * divisor;
    }
  }
};

template <class Pair>
__global__ void __launch_bounds__(block_threads) fill_kernel(Filling<Pair> work) {
  const int ranks = work.slots.ranks;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    index_t overflow = 0;
    index_t sent = 0;
    for (int r = 0; r < ranks; ++r) {
      const Window window = work.window(r);
      *work.slots.header(r) = {window.kept, work.bad->first};
      overflow += window.count - window.kept;
      sent += r != work.own ? window.kept : 0;
    }
    *work.overflow += overflow;
    *work.sent = sent;
  }
  int r = 0;
  for_own(work.offsets[ranks], [&](index_t i) {
    while (i >= work.offsets[r + 1]) ++r;  // the elements of a thread are in order
    const index_t place = work.window(r).place(i - work.offsets[r]);
    if (place >= 0) {
      work.slots.template pairs<Pair>(r)[place] = work.pairs[i];
    } else {
      work.leave_out(i);
    }
  });
}

/// The pairs of one slot, whose indices are unique.
template <class Pair>
__global__ void __launch_bounds__(block_threads)
    add_slot_kernel(SlotView slots, int rank, typename Pair::Wide* sum) {
  const Pair* const pairs = slots.pairs<Pair>(rank);
  for_own(slots.header(rank)->count, [&](index_t i) { sum[pairs[i].at()] += pairs[i].number(); });
}

/// The pairs of few short slots, by one block, which waits between slots.
template <class Pair>
__global__ void __launch_bounds__(one_block)
    add_short_kernel(SlotView slots, typename Pair::Wide* sum) {
  for (int r = 0; r < slots.ranks; ++r) {
    const Pair* const pairs = slots.pairs<Pair>(r);
    const index_t count = slots.header(r)->count;
    for (index_t i = threadIdx.x; i < count; i += one_block)
      sum[pairs[i].at()] += pairs[i].number();
    __syncthreads();
  }
}

__global__ void read_headers_kernel(SlotView slots, SlotSummary* summary) {
  SlotSummary found;
  for (int r = slots.ranks - 1; r >= 0; --r) {
    const SlotHeader header = *slots.header(r);
    found.pairs += header.count;
    if (header.first_bad >= 0) found = {1, r, header.first_bad, found.pairs};
  }
  *summary = found;
}

/// A row of blocks for each slot.
template <class Pair>
__global__ void __launch_bounds__(block_threads)
    return_others_kernel(SlotView sent, SlotView kept, typename Pair::Wide* residual) {
  const int r = static_cast<int>(blockIdx.y);
  const Pair* const from = sent.pairs<Pair>(r);
  const Pair* const others = kept.pairs<Pair>(r);
  const index_t other_count = kept.header(r)->count;
  for_own(sent.header(r)->count, [&](index_t i) {
    const index_t wanted = from[i].at();
    index_t first = 0;
    index_t end = other_count;
    while (first < end) {
      const index_t middle = first + (end - first) / 2;
      if (others[middle].at() < wanted) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    if (first == other_count || others[first].at() != wanted) residual[wanted] += from[i].number();
  });
}

template <class Pair>
__global__ void __launch_bounds__(block_threads)
    join_kernel(SlotView slots, Pair* to, index_t* count) {
  const int r = static_cast<int>(blockIdx.y);
  index_t before = 0;
  for (int q = 0; q < r; ++q) before += slots.header(q)->count;
  const Pair* const from = slots.pairs<Pair>(r);
  const index_t mine = slots.header(r)->count;
  for_own(mine, [&](index_t i) { to[before + i] = from[i]; });
  if (r + 1 == slots.ranks && blockIdx.x == 0 && threadIdx.x == 0) *count = before + mine;
}

dim3 blocks_per_slot(const Slots& slots) {
  return {
      std::max(1U, blocks_for(slots.capacity * slots.ranks) / static_cast<unsigned>(slots.ranks)),
      static_cast<unsigned>(slots.ranks)};
}

}  // namespace

template <class Device>
void fill_slots(Device device, const SlotFilling& work) {
  with_pair(work.slots.types, [&](auto example) {
    using Pair = decltype(example);
    fill_kernel<Pair><<<blocks_for(work.slots.capacity * work.slots.ranks), block_threads, 0,
                        detail::stream_of(device)>>>(Filling<Pair>(work));
  });
  detail::check_cuda_launch();
}

template <class Device>
void add_slots(Device device, const Slots& from, void* sum) {
  with_pair(from.types, [&](auto example) {
    using Pair = decltype(example);
    // Source by source, so that sums do not depend on the order of threads.
    if (from.capacity * from.ranks <= most_of_one_block) {
      add_short_kernel<Pair><<<1, one_block, 0, detail::stream_of(device)>>>(
          SlotView(from), static_cast<typename Pair::Wide*>(sum));
      return;
    }
    for (int r = 0; r < from.ranks; ++r) {
      add_slot_kernel<Pair>
          <<<blocks_for(from.capacity), block_threads, 0, detail::stream_of(device)>>>(
              SlotView(from), r, static_cast<typename Pair::Wide*>(sum));
    }
  });
  detail::check_cuda_launch();
}

template <class Device>
void read_headers(Device device, const Slots& slots, SlotSummary* summary) {
  read_headers_kernel<<<1, 1, 0, detail::stream_of(device)>>>(SlotView(slots), summary);
  detail::check_cuda_launch();
}

template <class Device>
void return_others(Device device, const Slots& sent, const Slots& kept, void* residual) {
  with_pair(sent.types, [&](auto example) {
    using Pair = decltype(example);
    return_others_kernel<Pair>
        <<<blocks_per_slot(sent), block_threads, 0, detail::stream_of(device)>>>(
            SlotView(sent), SlotView(kept), static_cast<typename Pair::Wide*>(residual));
  });
  detail::check_cuda_launch();
}

template <class Device>
void join_slots(Device device, const Slots& slots, void* pairs, index_t* count) {
  with_pair(slots.types, [&](auto example) {
    using Pair = decltype(example);
    join_kernel<<<blocks_per_slot(slots), block_threads, 0, detail::stream_of(device)>>>(
        SlotView(slots), static_cast<Pair*>(pairs), count);
  });
  detail::check_cuda_launch();
}

template void fill_slots(Cuda, const SlotFilling&);
template void add_slots(Cuda, const Slots&, void*);
template void read_headers(Cuda, const Slots&, SlotSummary*);
template void return_others(Cuda, const Slots&, const Slots&, void*);
template void join_slots(Cuda, const Slots&, void*, index_t*);

}  // namespace weft::kernels
