// Radix selection on a GPU: histograms of digits in shared memory, which blocks add up.

#include "sparse_allreduce/cuda/tiles.cuh"

#include <algorithm>

namespace weft::kernels {
namespace {

using detail::KeyOf;
using detail::magnitude_key;

constexpr int block_threads = 1024;
constexpr index_t most_blocks = 264;  // two per multiprocessor of an H200

/// Which candidates have the prefix of a search.
template <class W>
struct DigitReader {
  const W* value;
  const index_t* index;
  index_t base;
  KeyOf<W> left_out;
  bool of_indices;
  int shift;

  /// The digit of element i, or -1.
  __device__ int digit(index_t i, const DigitSearch& search) const {
    const W x = value[i];
    if (std::bit_cast<KeyOf<W>>(x) == left_out) return -1;
    std::uint64_t digits = magnitude_key(x);
    if (of_indices) {
      if (digits != search.rule.key) return -1;
      digits = static_cast<std::uint64_t>(index != nullptr ? index[i] : i + base);
    }
    if ((digits & search.higher) != search.prefix) return -1;
    return static_cast<int>((digits >> shift) & static_cast<std::uint64_t>(digit_values - 1));
  }
};

/// The bits that no candidate has: those of -0, or of a NaN.
template <class W>
DigitReader<W> reader(const Candidates& from, index_t base, bool of_indices, int shift) {
  const KeyOf<W> none =
      from.touched ? static_cast<KeyOf<W>>(~detail::magnitude_mask<W>) : ~KeyOf<W>{0};
  return {static_cast<const W*>(from.value), from.index, base, none, of_indices, shift};
}

template <class W>
__global__ void __launch_bounds__(block_threads)
    count_kernel(DigitReader<W> reader, Candidates from, const DigitSearch* search,
                 index_t* histogram) {
  __shared__ unsigned counts[digit_values];
  for (index_t d = threadIdx.x; d < digit_values; d += block_threads) counts[d] = 0;
  __syncthreads();
  const DigitSearch found = *search;
  const index_t step = static_cast<index_t>(gridDim.x) * block_threads;
  const index_t begin = from.begin();
  const index_t end = from.end();
#pragma unroll 4
  for (index_t i = begin + static_cast<index_t>(blockIdx.x) * block_threads + threadIdx.x; i < end;
       i += step) {
    const int digit = reader.digit(i, found);
    if (digit >= 0) atomicAdd(&counts[digit], 1U);
  }
  __syncthreads();
  for (index_t d = threadIdx.x; d < digit_values; d += block_threads) {
    if (counts[d] == 0) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(histogram + d),
              static_cast<unsigned long long>(counts[d]));
  }
}

__global__ void __launch_bounds__(block_threads) clear_kernel(index_t* histogram) {
  for (index_t d = threadIdx.x; d < digit_values; d += block_threads) histogram[d] = 0;
}

/// The digit with number `order` in the order in which elements are taken: keys from the largest
/// down, indices from the lowest up.
__device__ index_t ordered_digit(bool of_indices, index_t order) {
  return of_indices ? order : digit_values - 1 - order;
}

/// Extends the prefix by the digit that has the wanted element, on all threads of a block.
template <class Counter>
__device__ void choose(bool of_indices, int shift, const Counter* histogram, DigitSearch& search) {
  constexpr index_t each = digit_values / block_threads;
  __shared__ index_t memory[33];
  const index_t first = each * threadIdx.x;
  index_t mine = 0;
#pragma unroll
  for (index_t o = first; o < first + each; ++o) {
    mine += static_cast<index_t>(histogram[ordered_digit(of_indices, o)]);
  }
  index_t total = 0;
  index_t before = tiles::sum_before(mine, memory, &total);
  const index_t wanted = search.wanted;
  __syncthreads();  // all threads have read it
  // If there are too few elements, the last digit is chosen.
  const bool last = threadIdx.x == block_threads - 1;
  if (before >= wanted || (before + mine < wanted && !last)) return;
  for (index_t o = first; o < first + each; ++o) {
    const index_t digit = ordered_digit(of_indices, o);
    const auto count = static_cast<index_t>(histogram[digit]);
    if (before + count < wanted && o + 1 < digit_values) {
      before += count;
      continue;
    }
    search.wanted = wanted - before;
    search.present = count;
    search.prefix |= static_cast<std::uint64_t>(digit) << shift;
    search.higher |= static_cast<std::uint64_t>(digit_values - 1) << shift;
    return;
  }
}

__global__ void __launch_bounds__(block_threads)
    choose_kernel(bool of_indices, int shift, const index_t* histogram, DigitSearch* search) {
  choose(of_indices, shift, histogram, *search);
}

__global__ void start_search_kernel(index_t k, DigitSearch* search) {
  *search = {};
  search->wanted = k;
}

__global__ void make_rule_kernel(bool all, const DigitSearch* search, SelectionRule* rule) {
  *rule = {};
  if (all || search->present < search->wanted) return;
  rule->key = search->prefix;
  rule->ties = search->wanted;
}

unsigned blocks_for(index_t n) {
  constexpr index_t share = 8 * block_threads;
  return static_cast<unsigned>(std::clamp<index_t>((n + share - 1) / share, 1, most_blocks));
}

template <class W>
constexpr int highest_shift = (detail::key_bits<W> - 1) / digit_bits* digit_bits;

/// One block per chunk, whose elements are in the caches after the first pass.
template <class W>
__global__ void __launch_bounds__(block_threads)
    select_in_chunks_kernel(index_t n, index_t chunk, index_t each, W* values,
                            tiles::ListWriter<W> out) {
  __shared__ unsigned counts[digit_values];
  __shared__ DigitSearch search;
  __shared__ index_t memory[33];
  const index_t begin = static_cast<index_t>(blockIdx.x) * chunk;
  const index_t length = min(chunk, n - begin);
  if (threadIdx.x == 0) {
    search = {};
    search.wanted = min(each, length);
  }
  for (int shift = highest_shift<W>; shift >= 0; shift -= digit_bits) {
    for (index_t d = threadIdx.x; d < digit_values; d += block_threads) counts[d] = 0;
    __syncthreads();
    const DigitReader<W> reader = {values + begin, nullptr, 0, ~KeyOf<W>{0}, false, shift};
    for (index_t i = threadIdx.x; i < length; i += block_threads) {
      const int digit = reader.digit(i, search);
      if (digit >= 0) atomicAdd(&counts[digit], 1U);
    }
    __syncthreads();
    choose(false, shift, counts, search);
    __syncthreads();
  }
  const auto threshold = static_cast<KeyOf<W>>(search.prefix);
  index_t ties = 0;
  index_t at = static_cast<index_t>(blockIdx.x) * each;
  for (index_t first = 0; first < length; first += block_threads) {
    const index_t i = begin + first + threadIdx.x;
    const bool present = first + threadIdx.x < length;
    const W x = present ? values[i] : W{};
    const KeyOf<W> key = magnitude_key(x);
    const bool tie = present && key == threshold;
    index_t all = 0;
    const index_t ties_before = ties + tiles::sum_before(tie ? 1 : 0, memory, &all);
    ties += all;
    const bool taken = (present && key > threshold) || (tie && ties_before < search.wanted);
    const index_t place = at + tiles::sum_before(taken ? 1 : 0, memory, &all);
    if (taken && out.put(place, i, x)) values[i] = W{};
    at += all;
  }
}

}  // namespace

template <class Device>
void count_digits(Device device, const Candidates& from, index_t base, bool of_indices, int shift,
                  const DigitSearch* search, index_t* histogram) {
  const cudaStream_t stream = detail::stream_of(device);
  clear_kernel<<<1, block_threads, 0, stream>>>(histogram);
  tiles::with_work(from.work, [&](auto w) {
    using W = decltype(w);
    count_kernel<W><<<blocks_for(from.n.most), block_threads, 0, stream>>>(
        reader<W>(from, base, of_indices, shift), from, search, histogram);
  });
  detail::check_cuda_launch();
}

template <class Device>
void choose_digit(Device device, bool of_indices, int shift, const index_t* histogram,
                  DigitSearch* search) {
  choose_kernel<<<1, block_threads, 0, detail::stream_of(device)>>>(of_indices, shift, histogram,
                                                                    search);
  detail::check_cuda_launch();
}

template <class Device>
void find_rule(Device device, const Candidates& from, index_t k, SelectionRule* rule,
               index_t* histogram) {
  const cudaStream_t stream = detail::stream_of(device);
  // Only the first row of the histogram is needed for counts.
  static_assert(sizeof(DigitSearch) <= sizeof(index_t) * digit_values && histogram_rows > 1);
  auto* search = reinterpret_cast<DigitSearch*>(histogram + digit_values);
  // A search among fewer finds that there are fewer.
  const bool all = k >= from.n.most;
  if (!all) {
    start_search_kernel<<<1, 1, 0, stream>>>(k, search);
    const int first = from.work == DType::f64 ? highest_shift<double> : highest_shift<float>;
    for (int shift = first; shift >= 0; shift -= digit_bits) {
      count_digits(device, from, 0, false, shift, search, histogram);
      choose_digit(device, false, shift, histogram, search);
    }
  }
  make_rule_kernel<<<1, 1, 0, stream>>>(all, search, rule);
  detail::check_cuda_launch();
}

template <class Device>
void select_in_chunks(Device device, DType work, index_t n, index_t chunk, index_t each,
                      void* values, const SelectedList& list) {
  const auto chunks = static_cast<unsigned>((n + chunk - 1) / chunk);
  tiles::with_work(work, [&](auto w) {
    using W = decltype(w);
    select_in_chunks_kernel<W><<<chunks, block_threads, 0, detail::stream_of(device)>>>(
        n, chunk, each, static_cast<W*>(values), tiles::writer<W>(list));
  });
  detail::check_cuda_launch();
}

template void find_rule(Cuda, const Candidates&, index_t, SelectionRule*, index_t*);
template void count_digits(Cuda, const Candidates&, index_t, bool, int, const DigitSearch*,
                           index_t*);
template void choose_digit(Cuda, bool, int, const index_t*, DigitSearch*);
template void select_in_chunks(Cuda, DType, index_t, index_t, index_t, void*, const SelectedList&);

}  // namespace weft::kernels
