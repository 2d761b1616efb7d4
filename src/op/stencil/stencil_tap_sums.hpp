#pragma once

// Sums of taps along a row on the CPU, in registers; for stencil_kernels.cpp only.

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "op/stencil/stencil_terms.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace weft::kernels {

/// Calls run(count) with a constant for the numbers of taps that are common, and 0 for others.
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
    default: return run(std::integral_constant<int, 0>{});
  }
}

/// Pointers to elements of the inputs, and what they are multiplied by: those of row 0 or of one
/// row, to which all others are relative.
template <class T>
struct Taps {
  int count = 0;
  int across = 0;
  const T* from[StencilPlan<T>::max_taps];
  RealOf<T> weight[StencilPlan<T>::max_taps];
  // The last element of each input, to be fetched ahead; at least one.
  int leads = 0;
  const T* lead[max_dims];

  void add(const T* data, RealOf<T> factor) {
    from[count] = data;
    weight[count++] = factor;
  }
  /// Adds the factor to one that the element has already.
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

/// How far ahead an input is fetched into the cache. The processor does that by itself, but only
/// up to the end of a page. Measured by derivative_bench.
constexpr index_t fetched_bytes = 2048;

constexpr index_t line_bytes = 64;

/// How many elements further a place is than the beginning of its line of the cache.
template <class T>
index_t beyond_line(const T* y) {
  return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(y) % line_bytes / sizeof(T));
}

/// Whether a line goes to memory past the caches.
enum class Store : std::uint8_t { cached, past_cache };

/// A line of the cache in registers.
template <class Real>
struct Line {
  using Lanes [[gnu::vector_size(32)]] = Real;
  using Unaligned [[gnu::vector_size(32), gnu::aligned(alignof(Real)), gnu::may_alias]] = Real;
  static constexpr index_t width = sizeof(Lanes) / sizeof(Real);
  static constexpr index_t size = 2 * width;

  Lanes first;
  Lanes second;

  static Lanes load(const Real* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static void put(Lanes lanes, Real* to) { *reinterpret_cast<Unaligned*>(to) = lanes; }
  template <Store how>
  void store(Real* to) const {
    if constexpr (how == Store::past_cache) {
      stream(first, to);
      stream(second, to + width);
    } else {
      put(first, to);
      put(second, to + width);
    }
  }

 private:
  static void stream(Lanes lanes, Real* to) {
#if defined(__AVX__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(lanes));
#elif defined(__SSE2__)
    __m128i halves[2];
    __builtin_memcpy(halves, &lanes, sizeof(lanes));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), halves[0]);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to) + 1, halves[1]);
#else
    put(lanes, to);
#endif
  }
};

/// After all stores past the caches, and before others may look at what they have stored.
inline void end_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// The sum of taps at one place, and at those of a register. Kept by value: stores through pointers
/// could change what is elsewhere.
template <class Real, std::size_t... t>
struct TapSum {
  using Lanes = typename Line<Real>::Lanes;
  const Real* from[sizeof...(t)];
  Lanes weight[sizeof...(t)];

  template <class T>
  TapSum(std::index_sequence<t...>, const Taps<T>& taps, index_t row)
      : from{reinterpret_cast<const Real*>(taps.from[t] + row)...},
        weight{taps.weight[t] - Lanes{}...} {}

  [[gnu::always_inline]] Real at(index_t k) const { return (... + (weight[t][0] * from[t][k])); }
  [[gnu::always_inline]] Lanes lanes_at(index_t k) const {
    return (... + (weight[t] * Line<Real>::load(from[t] + k)));
  }
  [[gnu::always_inline]] Line<Real> line_at(index_t k) const {
    return {lanes_at(k), lanes_at(k + Line<Real>::width)};
  }
};

template <class T, std::size_t... t>
TapSum(std::index_sequence<t...>, const Taps<T>&, index_t) -> TapSum<RealOf<T>, t...>;

/// Fetches what a row will read soon.
template <class T>
class Fetcher {
 public:
  Fetcher(const Taps<T>& taps, index_t row) : taps_(taps), row_(row), first_(at(0)) {}

  [[gnu::always_inline]] void operator()(index_t bytes) const {
    __builtin_prefetch(first_ + bytes);
#pragma GCC unroll 1
    for (int l = 1; l < taps_.leads; ++l) __builtin_prefetch(at(l) + bytes);
  }

 private:
  const char* at(int l) const {
    return reinterpret_cast<const char*>(taps_.lead[l] + row_) + fetched_bytes;
  }

  const Taps<T>& taps_;
  index_t row_;
  const char* first_;  // most stencils have no other
};

/// out[k] = sum of taps for the places of whole lines. Every line is stored after the loads of the
/// next: a load from where another array has, in its page, what was just stored waits for the store
/// on processors that compare the last 12 bits of addresses first.
template <Store how, class Real, class Sum, class Fetch>
[[gnu::always_inline]] inline void sum_lines(const Sum sum, const Fetch fetch, index_t begin,
                                             index_t end, Real* out) {
  constexpr index_t size = Line<Real>::size;
  if (begin >= end) return;
  fetch(begin * index_t{sizeof(Real)});
  Line<Real> line = sum.line_at(begin);
  for (index_t k = begin + size; k < end; k += size) {
    fetch(k * index_t{sizeof(Real)});
    const Line<Real> next = sum.line_at(k);
    line.template store<how>(out + k - size);
    line = next;
  }
  line.template store<how>(out + end - size);
}

/// The same for a few places, wherever they begin. The last register may overlap with one before
/// it.
template <class Real, class Sum>
[[gnu::always_inline]] inline void sum_few(const Sum sum, index_t begin, index_t end, Real* out) {
  constexpr index_t width = Line<Real>::width;
  index_t k = begin;
  if (end - begin < width) {
    for (; k < end; ++k) out[k] = sum.at(k);
    return;
  }
  for (; k + width <= end; k += width) Line<Real>::put(sum.lanes_at(k), out + k);
  if (k < end) Line<Real>::put(sum.lanes_at(end - width), out + end - width);
}

/// The same for a row that stays in the cache, where to fetch it ahead takes the time of a load.
template <class Real, class Sum>
[[gnu::always_inline]] inline void sum_row(const Sum sum, index_t begin, index_t end, Real* out) {
  constexpr index_t size = Line<Real>::size;
  if (end - begin < 2 * size) return sum_few(sum, begin, end, out);
  // No register is stored across the end of a line, but for the first ones.
  sum_few(sum, begin, begin + size, out);
  const index_t first = begin + size - beyond_line(out + begin);
  const index_t last = first + (end - first) / size * size;
  const auto fetch_nothing = [](index_t) {};
  sum_lines<Store::cached>(sum, fetch_nothing, first, last, out);
  if (last < end) sum_few(sum, end - size, end, out);
}

/// put(sum of taps, y[k]) for begin <= k < end.
template <class T, class Put, std::size_t... t>
void combine(std::index_sequence<t...>, const Taps<T>& taps, index_t row, index_t begin,
             index_t end, T* y, Put put) {
  const T* const from[] = {taps.from[t] + row...};
  const RealOf<T> weight[] = {taps.weight[t]...};
#pragma omp simd
  for (index_t k = begin; k < end; ++k) put((... + (weight[t] * from[t][k])), y[k]);
}

/// Any number of taps, one after the other in a piece of a row that stays in the cache.
template <class T, class Put>
void combine(std::index_sequence<>, const Taps<T>& taps, index_t row, index_t begin, index_t end,
             T* y, Put put) {
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
    for (index_t k = 0; k < n; ++k) put(sums[k], y[first + k]);
  }
}

/// y[k] = values[k], with whole lines written past the cache.
template <class T>
void copy_past_cache(const T* values, index_t n, T* y) {
  using Real = RealOf<T>;
  constexpr index_t width = line_bytes / sizeof(T);
  const index_t aligned = std::min(n, (width - beyond_line(y)) % width);
  index_t k = 0;
  for (; k < aligned; ++k) y[k] = values[k];
  for (; k + width <= n; k += width) {
    const auto* from = reinterpret_cast<const Real*>(values + k);
    const Line<Real> line{Line<Real>::load(from), Line<Real>::load(from + Line<Real>::width)};
    line.template store<Store::past_cache>(reinterpret_cast<Real*>(y + k));
  }
  for (; k < n; ++k) y[k] = values[k];
}

}  // namespace weft::kernels
