#include "sparse_allreduce/selection_kernels.hpp"

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/reduce.hpp>

#include "sparse_allreduce/magnitude_keys.hpp"
#include "sparse_allreduce/selection_loops.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace weft::kernels {
namespace {

using detail::KeyOf;
using detail::magnitude_key;
using selection::exclusive_sums;
using selection::for_chunks;
using selection::with_work;
using selection::writer;

/// The bits that no candidate has: those of -0, or of a NaN.
template <class W>
KeyOf<W> left_out(const Candidates& from) {
  return from.touched ? static_cast<KeyOf<W>>(~detail::magnitude_mask<W>) : ~KeyOf<W>{0};
}
template <class W>
bool is_candidate(W value, KeyOf<W> left_out) {
  return std::bit_cast<KeyOf<W>>(value) != left_out;
}

/// Which elements have the prefix of a search.
template <class W>
struct DigitCounter {
  const W* value;
  const index_t* index;
  index_t base;
  KeyOf<W> left_out;
  bool of_indices;
  int shift;
  DigitSearch search;

  void add(index_t i, index_t* counts) const {
    if (!is_candidate(value[i], left_out)) return;
    std::uint64_t digits = magnitude_key(value[i]);
    if (of_indices) {
      if (digits != search.rule.key) return;
      digits = static_cast<std::uint64_t>(index != nullptr ? index[i] : i + base);
    }
    if ((digits & search.higher) != search.prefix) return;
    ++counts[(digits >> shift) & static_cast<std::uint64_t>(digit_values - 1)];
  }
};

template <class W>
void count_typed(const DigitCounter<W>& counter, index_t begin, index_t end, index_t* histogram) {
  const index_t n = end - begin;
  const int threads = std::min(weft::detail::threads_for(n), histogram_rows);
  weft::detail::share_jobs(threads, threads, [=](index_t row) {
    index_t* counts = histogram + row * digit_values;
    std::fill_n(counts, digit_values, 0);
    for (index_t i = n * row / threads; i < n * (row + 1) / threads; ++i) {
      counter.add(begin + i, counts);
    }
  });
  for (index_t row = 1; row < threads; ++row) {
    for (index_t d = 0; d < digit_values; ++d) histogram[d] += histogram[row * digit_values + d];
  }
}

void choose(bool of_indices, int shift, const index_t* histogram, DigitSearch& search) {
  // Keys are taken from the largest down, indices from the lowest up.
  const index_t step = of_indices ? 1 : -1;
  const index_t last = of_indices ? digit_values - 1 : 0;
  index_t digit = digit_values - 1 - last;
  while (digit != last && histogram[digit] < search.wanted) {
    search.wanted -= histogram[digit];
    digit += step;
  }
  search.present = histogram[digit];
  search.prefix |= static_cast<std::uint64_t>(digit) << shift;
  search.higher |= static_cast<std::uint64_t>(digit_values - 1) << shift;
}

template <class W>
constexpr int highest_shift = (detail::key_bits<W> - 1) / digit_bits* digit_bits;

/// Radix selection, from the highest digit of the key down.
template <class W>
void find_rule_typed(const Candidates& from, index_t k, SelectionRule* rule, index_t* histogram) {
  *rule = {};
  if (k >= from.n.now()) return;
  DigitSearch search;
  search.wanted = k;
  for (int shift = highest_shift<W>; shift >= 0; shift -= digit_bits) {
    const DigitCounter<W> counter = {
        static_cast<const W*>(from.value), from.index, 0, left_out<W>(from), false, shift, search};
    count_typed(counter, from.begin(), from.end(), histogram);
    choose(false, shift, histogram, search);
  }
  // Otherwise there are fewer than k.
  if (search.present >= search.wanted) *rule = {search.prefix, search.wanted};
}

template <class W>
void select_typed(const Candidates& from, index_t base, const SelectionRule* rule_in_memory,
                  index_t* tallies, const SelectedList& list, index_t* total, W* zeroed) {
  const SelectionRule rule = *rule_in_memory;
  const W* value = static_cast<const W*>(from.value);
  const auto threshold = static_cast<KeyOf<W>>(rule.key);
  const KeyOf<W> none = left_out<W>(from);
  const auto index_of = [=](index_t i) { return from.index != nullptr ? from.index[i] : i + base; };
  const bool all_indices = rule.last_index == std::numeric_limits<index_t>::max();
  const auto is_tie = [=](index_t i) {
    return magnitude_key(value[i]) == threshold &&
           (all_indices || index_of(i) <= rule.last_index) && is_candidate(value[i], none);
  };
  const index_t first = from.begin();
  const index_t last = from.end();
  // Chunks are those of the whole array, so that sums of their tallies are in one place.
  const index_t n = std::max(first, last);
  for_chunks(n, [=](index_t chunk, index_t begin, index_t end) {
    index_t above = 0;
    index_t equal = 0;
    for (index_t i = std::max(begin, first); i < end; ++i) {
      above += magnitude_key(value[i]) > threshold ? 1 : 0;
      equal += is_tie(i) ? 1 : 0;
    }
    tallies[2 * chunk] = above;
    tallies[2 * chunk + 1] = equal;
  });
  const index_t chunks = selection_chunks(n);
  const index_t above = exclusive_sums(chunks, 2, tallies);
  *total = above + std::min(exclusive_sums(chunks, 2, tallies + 1), rule.ties);
  for_chunks(n, [=](index_t chunk, index_t begin, index_t end) {
    const auto out = writer<W>(list);
    index_t ties = tallies[2 * chunk + 1];
    index_t at = tallies[2 * chunk] + std::min(ties, rule.ties);
    for (index_t i = std::max(begin, first); i < end; ++i) {
      if (magnitude_key(value[i]) < threshold) continue;
      if (magnitude_key(value[i]) == threshold && (!is_tie(i) || ties++ >= rule.ties)) continue;
      if (out.put(at++, index_of(i), value[i]) && zeroed != nullptr) zeroed[index_of(i)] = W{};
    }
  });
}

template <class W>
index_t count_from(index_t n, const W* value, KeyOf<W> threshold) {
  return reduce(
      WEFT_THIS_DEVICE{}, n, index_t{0},
      [=](index_t i) { return index_t{magnitude_key(value[i]) >= threshold ? 1 : 0}; },
      [](index_t a, index_t b) { return a + b; });
}

template <class W>
void select_in_chunks_typed(index_t n, index_t chunk, index_t each, W* values,
                            const SelectedList& list) {
  const index_t chunks = (n + chunk - 1) / chunk;
  weft::detail::share_jobs(chunks, weft::detail::threads_for(n), [=](index_t c) {
    const index_t begin = c * chunk;
    const index_t length = std::min(chunk, n - begin);
    DigitSearch search;
    search.wanted = std::min(each, length);
    for (int shift = highest_shift<W>; shift >= 0; shift -= digit_bits) {
      index_t histogram[digit_values] = {};
      const DigitCounter<W> counter = {values + begin, nullptr, 0,     ~KeyOf<W>{0},
                                       false,          shift,   search};
      for (index_t i = 0; i < length; ++i) counter.add(i, histogram);
      choose(false, shift, histogram, search);
    }
    const auto out = writer<W>(list);
    index_t at = c * each;
    for (index_t i = begin; i < begin + length; ++i) {
      const KeyOf<W> key = magnitude_key(values[i]);
      if (key < search.prefix || (key == search.prefix && search.wanted-- <= 0)) continue;
      if (out.put(at++, i, values[i])) values[i] = W{};
    }
  });
}

}  // namespace

template <class Device>
void find_rule(Device, const Candidates& from, index_t k, SelectionRule* rule, index_t* histogram) {
  with_work(from.work, [&](auto w) { find_rule_typed<decltype(w)>(from, k, rule, histogram); });
}

template <class Device>
void select(Device, const Candidates& from, index_t base, const SelectionRule* rule,
            index_t* tallies, const SelectedList& list, index_t* count, void* zeroed) {
  with_work(from.work, [&](auto w) {
    using W = decltype(w);
    select_typed<W>(from, base, rule, tallies, list, count, static_cast<W*>(zeroed));
  });
}

template <class Device>
void count_digits(Device, const Candidates& from, index_t base, bool of_indices, int shift,
                  const DigitSearch* search, index_t* histogram) {
  with_work(from.work, [&](auto w) {
    using W = decltype(w);
    const DigitCounter<W> counter = {static_cast<const W*>(from.value),
                                     from.index,
                                     base,
                                     left_out<W>(from),
                                     of_indices,
                                     shift,
                                     *search};
    count_typed(counter, from.begin(), from.end(), histogram);
  });
}

template <class Device>
void choose_digit(Device, bool of_indices, int shift, const index_t* histogram,
                  DigitSearch* search) {
  choose(of_indices, shift, histogram, *search);
}

template <class Device>
void raise_threshold(Device, DType work, const SelectedList& list, Count count, index_t most,
                     int steps, double factor, double* threshold) {
  const index_t present = count.now();
  if (present <= most) return;
  with_work(work, [&](auto w) {
    using W = decltype(w);
    const W* value = static_cast<const W*>(list.value);
    auto rounded = static_cast<W>(*threshold);
    for (int step = 0; step < steps; ++step) {
      if (count_from<W>(present, value, magnitude_key(rounded)) <= most) break;
      rounded = static_cast<W>(static_cast<double>(rounded) * factor);
    }
    *threshold = static_cast<double>(rounded);
  });
}

template <class Device>
void raise_short(Device device, const Raising& work) {
  raise_threshold(device, work.work, work.list, work.count, work.most, work.steps, work.factor,
                  work.threshold);
  with_work(work.work, [&](auto w) {
    using W = decltype(w);
    const KeyOf<W> least = detail::key_above_zero<W>(*work.threshold);
    const W* value = static_cast<const W*>(work.list.value);
    const auto out = writer<W>(work.kept);
    index_t at = 0;
    for (index_t i = 0; i < work.count.now(); ++i) {
      if (magnitude_key(value[i]) >= least) {
        out.put(at++, work.list.index[i], value[i]);
      } else {
        static_cast<W*>(work.residual)[work.list.index[i]] = value[i];
      }
    }
    *work.kept_count = at;
  });
}

template <class Device>
void select_in_chunks(Device, DType work, index_t n, index_t chunk, index_t each, void* values,
                      const SelectedList& list) {
  with_work(work, [&](auto w) {
    using W = decltype(w);
    select_in_chunks_typed<W>(n, chunk, each, static_cast<W*>(values), list);
  });
}

template <class Device>
void count_reaching(Device, DType work, index_t n, const void* values, const SelectionRule* rule,
                    index_t* count) {
  with_work(work, [&](auto w) {
    using W = decltype(w);
    *count = count_from<W>(n, static_cast<const W*>(values), static_cast<KeyOf<W>>(rule->key));
  });
}

template <class Device>
void moments(Device device, DType work, index_t n, const void* values, double* sums) {
  with_work(work, [&](auto w) {
    const auto* x = static_cast<const decltype(w)*>(values);
    const auto add = [](double a, double b) { return a + b; };
    sums[0] = reduce(
        device, n, 0.0, [=](index_t i) { return static_cast<double>(x[i]); }, add);
    sums[1] = reduce(
        device, n, 0.0,
        [=](index_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); }, add);
  });
}

template <class Device>
void put_back(Device device, DType work, const SelectedList& list, Count count, void* values) {
  with_work(work, [&](auto w) {
    using W = decltype(w);
    const auto* index = list.index;
    const auto* value = static_cast<const W*>(list.value);
    auto* to = static_cast<W*>(values);
    for_each(device, count.now(), [=](index_t i) { to[index[i]] = value[i]; });
  });
}

#define INSTANTIATE(Device)                                                                      \
  template void find_rule(Device, const Candidates&, index_t, SelectionRule*, index_t*);         \
  template void select(Device, const Candidates&, index_t, const SelectionRule*, index_t*,       \
                       const SelectedList&, index_t*, void*);                                    \
  template void count_digits(Device, const Candidates&, index_t, bool, int, const DigitSearch*,  \
                             index_t*);                                                          \
  template void choose_digit(Device, bool, int, const index_t*, DigitSearch*);                   \
  template void raise_threshold(Device, DType, const SelectedList&, Count, index_t, int, double, \
                                double*);                                                        \
  template void raise_short(Device, const Raising&);                                             \
  template void select_in_chunks(Device, DType, index_t, index_t, index_t, void*,                \
                                 const SelectedList&);                                           \
  template void count_reaching(Device, DType, index_t, const void*, const SelectionRule*,        \
                               index_t*);                                                        \
  template void moments(Device, DType, index_t, const void*, double*);                           \
  template void put_back(Device, DType, const SelectedList&, Count, void*);
INSTANTIATE(WEFT_THIS_DEVICE)
#undef INSTANTIATE

}  // namespace weft::kernels
