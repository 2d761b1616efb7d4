#include "sparse_allreduce/accumulation_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "sparse_allreduce/magnitude_keys.hpp"
#include "sparse_allreduce/selection_loops.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weft::kernels {
namespace {

using detail::KeyOf;
using detail::magnitude_key;
using selection::for_chunks;
using selection::with_work;

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

/// Elements that are accumulated before what was found among them is staged. They stay in the
/// first-level cache.
inline constexpr index_t block_length = 1024;
inline constexpr index_t bits_per_word = 32;
/// In elements. Addresses past the end of an array are harmless.
inline constexpr index_t prefetch_distance = 2 * block_length;
/// A block is staged as a whole.
inline constexpr index_t most_staged = staged_per_chunk - block_length;

/// What accumulating a chunk has found so far.
template <class W>
struct Found {
  index_t* index;  // of staged elements
  W* value;
  index_t count = 0;
  index_t staged = 0;
  BadElements bad;

  Found(const Staging& staging, index_t chunk)
      : index(staging.index + chunk * staged_per_chunk),
        value(static_cast<W*>(staging.value) + chunk * staged_per_chunk) {}
};

/// Sums of a block, and one bit per sum that tells whether its key is at least the threshold.
template <class W>
struct SumBlock {
  alignas(64) std::array<W, block_length> sum;
  std::array<std::uint64_t, block_length / 64> hits;

  /// The positions of all hits; returns how many.
  index_t find(std::array<std::int16_t, block_length + 2>& hit) const {
    index_t count = 0;
    for (std::size_t w = 0; w < hits.size(); ++w) {
      std::uint64_t word = hits[w];
      const index_t present = std::popcount(word);
      // Two are stored in any case: more are rare, and branches would be mispredicted.
      for (index_t c = 0; c < 2 || c < present; ++c, word &= word - 1) {
        hit[static_cast<std::size_t>(count + c)] =
            static_cast<std::int16_t>(static_cast<int>(64 * w) + (std::countr_zero(word) & 63));
      }
      count += present;
    }
    return count;
  }
};

/// Requests the elements of a word from memory.
template <class E>
void prefetch_word(const E* first) {
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(E));
  for (index_t j = 0; j < bits_per_word; j += line) __builtin_prefetch(first + j);
}

/// Adds a block and sets its bits. Words of 32 bits are what compilers vectorise.
template <class T, class W>
void add_block(const T* gradient, const W* residual, W decay, KeyOf<W> threshold,
               SumBlock<W>& block) {
  for (index_t word = 0; word < block_length / bits_per_word; ++word) {
    const index_t first = word * bits_per_word;
    W* sum = block.sum.data() + first;
    // Memory is busy while the previous block is staged, too.
    prefetch_word(gradient + first + prefetch_distance);
    prefetch_word(residual + first + prefetch_distance);
    KeyOf<W> hits = 0;
#pragma omp simd reduction(| : hits)
    for (index_t j = 0; j < bits_per_word; ++j) {
      sum[j] = decay * residual[first + j] + static_cast<W>(gradient[first + j]);
      hits |= magnitude_key(sum[j]) >= threshold ? KeyOf<W>{1} << j : KeyOf<W>{0};
    }
    std::uint64_t& both = block.hits[static_cast<std::size_t>(word / 2)];
    both = word % 2 == 0 ? hits : both | static_cast<std::uint64_t>(hits) << bits_per_word;
  }
}

/// Accumulates element by element, where some may be bad.
template <class T, class W>
void accumulate_each(index_t begin, index_t end, W decay, const T* gradient, W* residual,
                     Found<W>& found) {
  for (index_t i = begin; i < end; ++i) {
    const W sum = decay * residual[i] + static_cast<W>(gradient[i]);
    if (magnitude_key(sum) < detail::first_bad_key<W>) {
      residual[i] = sum;
    } else if (found.bad.count++ == 0) {
      found.bad.first = i;
    }
  }
}

/// Stages those of some elements whose keys are at least the threshold, one by one.
template <class W>
void stage_each(bool take, index_t begin, index_t end, KeyOf<W> threshold, W* residual,
                Found<W>& found) {
  const bool fits = found.count <= most_staged;
  for (index_t i = begin; i < end; ++i) {
    if (magnitude_key(residual[i]) < threshold) continue;
    if (fits) {
      found.index[found.count] = i;
      found.value[found.count] = residual[i];
      if (take) residual[i] = W{};
    }
    ++found.count;
  }
  if (fits) found.staged = found.count;
}

/// Stores a block and stages its hits. False if an element is bad: then nothing is stored.
template <class W>
bool store_block(bool take, index_t begin, const SumBlock<W>& block, W* residual, Found<W>& found) {
  std::array<std::int16_t, block_length + 2> hit;
  const index_t count = block.find(hit);
  const bool fits = found.count <= most_staged;
  KeyOf<W> largest = 0;
  for (index_t c = 0; c < count; ++c) {
    const index_t j = hit[static_cast<std::size_t>(c)];
    const W value = block.sum[static_cast<std::size_t>(j)];
    largest = std::max(largest, magnitude_key(value));
    if (!fits) continue;
    found.index[found.count + c] = begin + j;
    found.value[found.count + c] = value;
  }
  if (largest >= detail::first_bad_key<W>) return false;
  W* to = residual + begin;
  const W* from = block.sum.data();
#pragma omp simd
  for (index_t j = 0; j < block_length; ++j) to[j] = from[j];
  if (fits && take) {
    for (index_t c = 0; c < count; ++c) to[hit[static_cast<std::size_t>(c)]] = W{};
  }
  found.count += count;
  if (fits) found.staged = found.count;
  return true;
}

template <class T, class W>
Found<W> accumulate_chunk(const Accumulation& work, index_t chunk, index_t begin, index_t end) {
  Found<W> found(work.staging, chunk);
  const T* gradient = static_cast<const T*>(work.gradient);
  W* residual = static_cast<W*>(work.residual);
  const W decay = static_cast<W>(work.decay);
  // A bad element is a hit even if nothing is to be selected.
  const auto threshold =
      static_cast<KeyOf<W>>(std::min<std::uint64_t>(work.rule->key, detail::first_bad_key<W>));
  const auto one_by_one = [&](index_t first, index_t last) {
    accumulate_each(first, last, decay, gradient, residual, found);
    stage_each(work.take, first, last, threshold, residual, found);
  };
  SumBlock<W> block;
  index_t i = begin;
  for (; i + block_length <= end; i += block_length) {
    add_block(gradient + i, residual + i, decay, threshold, block);
    if (!store_block(work.take, i, block, residual, found)) one_by_one(i, i + block_length);
  }
  one_by_one(i, end);
  if (work.take && found.count > most_staged) {
    // The chunk is read again: what was taken is put back.
    for (index_t c = 0; c < found.staged; ++c) residual[found.index[c]] = found.value[c];
  }
  return found;
}

template <class T>
void accumulate_typed(const Accumulation& work) {
  using W = WorkOf<T>;
  for_chunks(work.n, [=](index_t chunk, index_t begin, index_t end) {
    const Found<W> found = accumulate_chunk<T, W>(work, chunk, begin, end);
    work.staging.count[chunk] = found.count;
    work.bad[chunk] = found.bad;
  });
  BadElements all;
  for (index_t chunk = 0; chunk < selection_chunks(work.n); ++chunk) {
    if (all.count == 0) all.first = work.bad[chunk].first;
    all.count += work.bad[chunk].count;
  }
  *work.all_bad = all;
}

template <class W>
void collect_typed(index_t n, W* values, bool take, const SelectionRule* rule,
                   const Staging& staging, const SelectedList& list, index_t total) {
  const index_t chunks = selection_chunks(n);
  for_chunks(n, [=](index_t chunk, index_t begin, index_t end) {
    const index_t first = staging.count[chunk];
    const index_t count = (chunk + 1 < chunks ? staging.count[chunk + 1] : total) - first;
    const auto out = selection::writer<W>(list);
    if (count <= most_staged) {
      const index_t* index = staging.index + chunk * staged_per_chunk;
      const W* value = static_cast<const W*>(staging.value) + chunk * staged_per_chunk;
      for (index_t c = 0; c < count; ++c) {
        if (!out.put(first + c, index[c], value[c]) && take) values[index[c]] = value[c];
      }
      return;
    }
    index_t at = first;
    const auto threshold = static_cast<KeyOf<W>>(rule->key);
    for (index_t i = begin; i < end; ++i) {
      if (magnitude_key(values[i]) < threshold) continue;
      if (out.put(at++, i, values[i]) && take) values[i] = W{};
    }
  });
}

}  // namespace

template <class Device>
void accumulate(Device, const Accumulation& work) {
  with_gradient(work.dtype, [&](auto t) { accumulate_typed<decltype(t)>(work); });
}

template <class Device>
void count_staged(Device, index_t n, const Staging& staging, index_t* total) {
  *total = selection::exclusive_sums(selection_chunks(n), 1, staging.count);
}

template <class Device>
void collect(Device, DType work, index_t n, void* values, bool take, const SelectionRule* rule,
             const Staging& staging, const SelectedList& list, const index_t* total) {
  with_work(work, [&](auto w) {
    using W = decltype(w);
    collect_typed<W>(n, static_cast<W*>(values), take, rule, staging, list, *total);
  });
}

template <class Device>
void sample(Device device, const Accumulation& work, index_t count, index_t stride, void* out) {
  with_gradient(work.dtype, [&](auto t) {
    using T = decltype(t);
    using W = WorkOf<T>;
    const auto* gradient = static_cast<const T*>(work.gradient);
    const auto* residual = static_cast<const W*>(work.residual);
    const auto decay = static_cast<W>(work.decay);
    auto* sampled = static_cast<W*>(out);
    for_each(device, count, [=](index_t i) {
      const W sum = decay * residual[i * stride] + static_cast<W>(gradient[i * stride]);
      sampled[i] = magnitude_key(sum) < detail::first_bad_key<W> ? sum : W{};
    });
  });
}

#define INSTANTIATE(Device)                                                                        \
  template void accumulate(Device, const Accumulation&);                                           \
  template void count_staged(Device, index_t, const Staging&, index_t*);                           \
  template void collect(Device, DType, index_t, void*, bool, const SelectionRule*, const Staging&, \
                        const SelectedList&, const index_t*);                                      \
  template void sample(Device, const Accumulation&, index_t, index_t, void*);
INSTANTIATE(WEFT_THIS_DEVICE)
#undef INSTANTIATE

}  // namespace weft::kernels
