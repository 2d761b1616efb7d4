#pragma once

// The layout of pairs in messages, for kernels.

#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

#include "sparse_allreduce/pair_kernels.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft::detail {

/// Sums of values of type T.
template <class T>
using Work = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Packed structures may only hold types without constructors.
template <class T>
using Raw = std::conditional_t<sizeof(T) == 2, std::uint16_t, T>;

template <class T>
constexpr Work<T> widen(Raw<T> value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<float>(std::bit_cast<T>(value));
  } else {
    return value;
  }
}

/// 16-bit values saturate.
template <class T>
constexpr Raw<T> round_to(Work<T> x) {
  if constexpr (sizeof(T) == 2) {
    // Not by std::clamp: device code cannot refer to constants of the host.
    constexpr float largest = std::is_same_v<T, BFloat16> ? 0x1.FEp127F : 65504.0F;
    return T(x > largest ? largest : x < -largest ? -largest : x).bits;
  } else {
    return x;
  }
}

template <class T, class I>
struct __attribute__((packed, aligned(sizeof(T) < sizeof(I) ? sizeof(T) : sizeof(I)))) WirePair {
  using Value = T;
  using Index = I;
  using Wide = Work<T>;

  I index;
  Raw<T> value;

  constexpr index_t at() const { return static_cast<index_t>(index); }
  constexpr Wide number() const { return widen<T>(value); }
  constexpr void set(index_t i, Raw<T> x) {
    index = static_cast<I>(i);
    value = x;
  }
};

/// Calls f with a pair of these types.
template <class F>
void with_pair(kernels::PairTypes types, F f) {
  const auto with_value = [&](auto value) {
    using T = decltype(value);
    if (types.wide) {
      f(WirePair<T, std::uint64_t>{});
    } else {
      f(WirePair<T, std::uint32_t>{});
    }
  };
  switch (types.value) {
    case DType::f16: return with_value(Half{});
    case DType::bf16: return with_value(BFloat16{});
    case DType::f32: return with_value(float{});
    default: return with_value(double{});
  }
}

}  // namespace weft::detail
