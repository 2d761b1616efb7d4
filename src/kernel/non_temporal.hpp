#pragma once

// Non-temporal stores, which bypass the caches, for kernels on the CPU.

#include <weft/kernel/for_each.hpp>

#include "kernel/kernel_scalars.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace weft::kernels {

/// Outputs at least this large are written with non-temporal stores, as memcpy does: caches cannot
/// hold them, and would read from memory the lines that are overwritten. Set with derivative_bench:
/// outputs of its rows of (1000, 1000), 8 MB, are below, those of (2000, 2000), 32 MB, above.
constexpr index_t non_temporal_bytes = 12 << 20;

/// Size of a cache line.
constexpr index_t line_bytes = 64;

/// Number of elements between the beginning of the cache line of y and y.
template <class T>
index_t offset_in_line(const T* y) {
  return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(y) % line_bytes / sizeof(T));
}

/// Calls f(begin, n) for pieces of a row of `count` elements, n = `line` elements each but the
/// last; n is a constant for these, so that their loops are unrolled.
template <index_t line, class F>
inline void for_each_line(index_t count, F f) {
  index_t begin = 0;
  for (; begin + line <= count; begin += line) {
    f(begin, std::integral_constant<index_t, line>{});
  }
  if (begin < count) f(begin, count - begin);
}

/// How a cache line is stored. Non-temporal stores bypass the caches.
enum class Store : std::uint8_t { cached, non_temporal };

/// A cache line of reals in registers.
template <class Real>
struct CacheLine {
  using Lanes [[gnu::vector_size(32)]] = Real;
  using Unaligned [[gnu::vector_size(32), gnu::aligned(alignof(Real)), gnu::may_alias]] = Real;
  static constexpr index_t width = sizeof(Lanes) / sizeof(Real);
  static constexpr index_t size = 2 * width;

  Lanes first;
  Lanes second;

  static Lanes load(const Real* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static void store_lanes(Lanes lanes, Real* to) { *reinterpret_cast<Unaligned*>(to) = lanes; }
  template <Store how>
  void store(Real* to) const {
    if constexpr (how == Store::non_temporal) {
      store_lanes_non_temporal(first, to);
      store_lanes_non_temporal(second, to + width);
    } else {
      store_lanes(first, to);
      store_lanes(second, to + width);
    }
  }

 private:
  static void store_lanes_non_temporal(Lanes lanes, Real* to) {
#if defined(__AVX__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(lanes));
#elif defined(__SSE2__)
    __m128i halves[2];
    __builtin_memcpy(halves, &lanes, sizeof(lanes));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), halves[0]);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to) + 1, halves[1]);
#else
    store_lanes(lanes, to);
#endif
  }
};

/// Orders non-temporal stores before later stores, so that other threads see them.
inline void fence_non_temporal_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// y[k] = values[k], with non-temporal stores of whole cache lines.
template <class T>
void copy_non_temporal(const T* values, index_t n, T* y) {
  using Real = RealOf<T>;
  constexpr index_t width = line_bytes / sizeof(T);
  const index_t aligned = std::min(n, (width - offset_in_line(y)) % width);
  index_t k = 0;
  for (; k < aligned; ++k) y[k] = values[k];
  for (; k + width <= n; k += width) {
    const auto* from = reinterpret_cast<const Real*>(values + k);
    const CacheLine<Real> line{CacheLine<Real>::load(from),
                               CacheLine<Real>::load(from + CacheLine<Real>::width)};
    line.template store<Store::non_temporal>(reinterpret_cast<Real*>(y + k));
  }
  for (; k < n; ++k) y[k] = values[k];
}

}  // namespace weft::kernels
