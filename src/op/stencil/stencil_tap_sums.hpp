#pragma once

// Sums of taps along a row in SIMD registers: the inner loops of stencil_cpu.hpp, which computes
// rows, and stencil_row_ends.hpp, which computes their ends.

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "kernel/non_temporal.hpp"
#include "op/stencil/stencil_terms.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft::kernels {

/// Calls run(count) with a compile-time constant: the number of taps if it is common, otherwise 0.
template <class F>
void with_taps(int taps, F run) {
  switch (taps) {
    case 2: return run(std::integral_constant<int, 2>{});
    case 3: return run(std::integral_constant<int, 3>{});
    case 4: return run(std::integral_constant<int, 4>{});
    case 5: return run(std::integral_constant<int, 5>{});
    case 6: return run(std::integral_constant<int, 6>{});
    case 7: return run(std::integral_constant<int, 7>{});
    case 8: return run(std::integral_constant<int, 8>{});
    case 10: return run(std::integral_constant<int, 10>{});
    case 14: return run(std::integral_constant<int, 14>{});
    default: return run(std::integral_constant<int, 0>{});
  }
}

/// The taps of a row: y[row + k] = sum over t of weight[t] from[t][row + k], where `row` is the
/// offset of the row. The first `across` taps are those of terms across the last axis.
template <class T>
struct Taps {
  int count = 0;
  int across = 0;
  const T* from[StencilPlan<T>::max_taps];
  RealOf<T> weight[StencilPlan<T>::max_taps];
  // The tap furthest ahead in each input, where prefetches begin; at least one.
  int prefetched_count = 0;
  const T* prefetched[max_dims];

  void add(const T* data, RealOf<T> factor) {
    from[count] = data;
    weight[count++] = factor;
  }
  /// Adds the factor to the weight of an existing tap of the same element, if there is one.
  void merge(const T* data, RealOf<T> factor) {
    for (int t = 0; t < count; ++t) {
      if (from[t] == data) {
        weight[t] += factor;
        return;
      }
    }
    add(data, factor);
  }
};

/// Prefetch distance in bytes; hardware prefetchers stop at the end of a page. Set with
/// derivative_bench, rows of (2048, 2048) and (256, 256, 256), whose arrays exceed the caches.
constexpr index_t prefetch_bytes = 2048;

/// Sums of taps at one element, at the elements of a register and at those of a cache line.
/// Pointers and weights are members by value, so that the compiler need not reload them after
/// stores.
template <class Real, std::size_t... t>
struct TapSum {
  using Lanes = typename CacheLine<Real>::Lanes;
  const Real* from[sizeof...(t)];
  Lanes weight[sizeof...(t)];

  template <class T>
  TapSum(std::index_sequence<t...>, const Taps<T>& taps, index_t row)
      : from{reinterpret_cast<const Real*>(taps.from[t] + row)...},
        weight{taps.weight[t] - Lanes{}...} {}

  [[gnu::always_inline]] Real at(index_t k) const { return (... + (weight[t][0] * from[t][k])); }
  [[gnu::always_inline]] Lanes lanes_at(index_t k) const {
    return (... + (weight[t] * CacheLine<Real>::load(from[t] + k)));
  }
  [[gnu::always_inline]] CacheLine<Real> line_at(index_t k) const {
    return {lanes_at(k), lanes_at(k + CacheLine<Real>::width)};
  }
};

template <class T, std::size_t... t>
TapSum(std::index_sequence<t...>, const Taps<T>&, index_t) -> TapSum<RealOf<T>, t...>;

/// Prefetches the inputs of a row.
template <class T>
class Prefetcher {
 public:
  Prefetcher(const Taps<T>& taps, index_t row) : taps_(taps), row_begin_(row), first_(at(0)) {}

  [[gnu::always_inline]] void operator()(index_t bytes) const {
    __builtin_prefetch(first_ + bytes);
#pragma GCC unroll 1
    for (int l = 1; l < taps_.prefetched_count; ++l) __builtin_prefetch(at(l) + bytes);
  }

 private:
  const char* at(int l) const {
    return reinterpret_cast<const char*>(taps_.prefetched[l] + row_begin_) + prefetch_bytes;
  }

  const Taps<T>& taps_;
  index_t row_begin_;
  const char* first_;  // most stencils have no other
};

/// out[k] = sum of taps for begin <= k < end, which are boundaries of cache lines. Each line is
/// stored after the loads of the next one. Otherwise a load whose address equals that of a recent
/// store in its low 12 bits waits for the store (4 KiB aliasing, rows "in step" of
/// derivative_bench).
template <Store how, class Real, class Sum, class Prefetch>
[[gnu::always_inline]] inline void sum_cache_lines(const Sum sum, const Prefetch prefetch,
                                                   index_t begin, index_t end, Real* out) {
  constexpr index_t size = CacheLine<Real>::size;
  if (begin >= end) return;
  prefetch(begin * index_t{sizeof(Real)});
  CacheLine<Real> line = sum.line_at(begin);
  for (index_t k = begin + size; k < end; k += size) {
    prefetch(k * index_t{sizeof(Real)});
    const CacheLine<Real> next = sum.line_at(k);
    line.template store<how>(out + k - size);
    line = next;
  }
  line.template store<how>(out + end - size);
}

/// out[k] = sum of taps for begin <= k < end, without alignment. The last register may overlap the
/// one before it.
template <class Real, class Sum>
[[gnu::always_inline]] inline void sum_elements(const Sum sum, index_t begin, index_t end,
                                                Real* out) {
  constexpr index_t width = CacheLine<Real>::width;
  index_t k = begin;
  if (end - begin < width) {
    for (; k < end; ++k) out[k] = sum.at(k);
    return;
  }
  for (; k + width <= end; k += width) CacheLine<Real>::store_lanes(sum.lanes_at(k), out + k);
  if (k < end) CacheLine<Real>::store_lanes(sum.lanes_at(end - width), out + end - width);
}

/// The same for a row in the cache, where a prefetch would cost as much as a load.
template <class Real, class Sum>
[[gnu::always_inline]] inline void sum_cached_row(const Sum sum, index_t begin, index_t end,
                                                  Real* out) {
  constexpr index_t size = CacheLine<Real>::size;
  if (end - begin < 2 * size) return sum_elements(sum, begin, end, out);
  // Only the first registers are stored across the end of a cache line.
  sum_elements(sum, begin, begin + size, out);
  const index_t first = begin + size - offset_in_line(out + begin);
  const index_t last = first + (end - first) / size * size;
  const auto no_prefetch = [](index_t) {};
  sum_cache_lines<Store::cached>(sum, no_prefetch, first, last, out);
  if (last < end) sum_elements(sum, end - size, end, out);
}

/// update(sum of taps, y[k]) for begin <= k < end, with a constant number of taps.
template <class T, class Update, std::size_t... t>
void combine(std::index_sequence<t...>, const Taps<T>& taps, index_t row, index_t begin,
             index_t end, T* y, Update update) {
  const T* const from[] = {taps.from[t] + row...};
  const RealOf<T> weight[] = {taps.weight[t]...};
#pragma omp simd
  for (index_t k = begin; k < end; ++k) update((... + (weight[t] * from[t][k])), y[k]);
}

/// The same for any number of taps, in pieces of a row whose sums stay in the L1 cache.
template <class T, class Update>
void combine(std::index_sequence<>, const Taps<T>& taps, index_t row, index_t begin, index_t end,
             T* y, Update update) {
  constexpr index_t piece = 256;
  T sums[piece];
  for (index_t first = begin; first < end; first += piece) {
    const index_t n = std::min(piece, end - first);
    std::fill_n(sums, n, T{});
    for (int t = 0; t < taps.count; ++t) {
      const T* from = taps.from[t] + row + first;
      const RealOf<T> weight = taps.weight[t];
#pragma omp simd
      for (index_t k = 0; k < n; ++k) sums[k] += weight * from[k];
    }
#pragma omp simd
    for (index_t k = 0; k < n; ++k) update(sums[k], y[first + k]);
  }
}

}  // namespace weft::kernels
