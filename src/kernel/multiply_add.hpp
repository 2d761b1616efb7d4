#pragma once

// Fused multiply-add for compute-bound kernels. It rounds once where the processor has FMA, and
// twice elsewhere, so that results differ between processors in the last digits. All other code is
// compiled without fusion.

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include <cmath>
#include <concepts>
#include <type_traits>

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace weft::kernels {

#if defined(__FMA__) || defined(__aarch64__) || defined(__CUDACC__)
inline constexpr bool rounds_once = true;
#else
inline constexpr bool rounds_once = false;
#endif

/// a b + c
template <std::floating_point R>
WEFT_FUNCTION R multiply_add(R a, R b, R c) {
  if constexpr (rounds_once) {
    return std::fma(a, b, c);
  } else {
    return a * b + c;
  }
}
template <class R>
WEFT_FUNCTION Complex<R> multiply_add(Complex<R> a, Complex<R> b, Complex<R> c) {
  return {multiply_add(a.re, b.re, multiply_add(-a.im, b.im, c.re)),
          multiply_add(a.re, b.im, multiply_add(a.im, b.re, c.im))};
}

#if !defined(__CUDACC__)

/// The same for SIMD registers of type R.
template <class R, class Lanes>
inline Lanes multiply_add_lanes(Lanes a, Lanes b, Lanes c) {
  [[maybe_unused]] constexpr bool is_double = std::is_same_v<R, double>;
#if defined(__AVX512F__)
  if constexpr (sizeof(Lanes) == 64 && is_double) return _mm512_fmadd_pd(a, b, c);
  if constexpr (sizeof(Lanes) == 64 && !is_double) return _mm512_fmadd_ps(a, b, c);
#endif
#if defined(__FMA__)
  if constexpr (sizeof(Lanes) == 32 && is_double) return _mm256_fmadd_pd(a, b, c);
  if constexpr (sizeof(Lanes) == 32 && !is_double) return _mm256_fmadd_ps(a, b, c);
#endif
  return a * b + c;
}

/// A register with `value` in all lanes.
template <class Lanes, class R>
inline Lanes broadcast(R value) {
  return value - Lanes{};
}

#endif

}  // namespace weft::kernels
