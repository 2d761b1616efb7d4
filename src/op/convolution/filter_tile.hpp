#pragma once

// Sums of products with the taps of a filter in registers of the CPU; for *_kernels.cpp files only.

#if !defined(__CUDACC__)

#include "kernel/kernel_scalars.hpp"
#include "kernel/multiply_add.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace weft::kernels {

/// Sums of `width` elements in eight registers, enough to hide the latency of additions; only their
/// neighbours are loaded from memory, all of which must be in the line. For complex numbers, four
/// of the registers hold products with imaginary parts of coefficients, to be multiplied by i.
template <class T>
struct Tile {
  using R = RealOf<T>;
  using Lanes [[gnu::vector_size(32)]] = R;
  using Unaligned [[gnu::vector_size(32), gnu::aligned(alignof(R)), gnu::may_alias]] = R;
  static constexpr index_t lanes = 32 / static_cast<index_t>(sizeof(R));
  static constexpr bool is_complex = !std::is_same_v<T, R>;
  static constexpr index_t width = is_complex ? 2 * lanes : 8 * lanes;

  T sums[static_cast<std::size_t>(width)];

  /// The neighbours for tap t begin at x + shift(t).
  template <class Shift>
  void add(const T* x, Shift shift, index_t taps, const T* coefficients, index_t tap_step) {
    Lanes a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
    for (index_t t = 0; t < taps; ++t, coefficients += tap_step) {
      const auto* at = reinterpret_cast<const Unaligned*>(x + shift(t));
      const R* coefficient = reinterpret_cast<const R*>(coefficients);
      const auto first = broadcast<Lanes>(coefficient[0]);
      const auto second = broadcast<Lanes>(coefficient[is_complex ? 1 : 0]);
      const auto* other = is_complex ? at : at + 4;
      a = multiply_add_lanes<R, Lanes>(first, at[0], a);
      b = multiply_add_lanes<R, Lanes>(first, at[1], b);
      c = multiply_add_lanes<R, Lanes>(first, at[2], c);
      d = multiply_add_lanes<R, Lanes>(first, at[3], d);
      e = multiply_add_lanes<R, Lanes>(second, other[0], e);
      f = multiply_add_lanes<R, Lanes>(second, other[1], f);
      g = multiply_add_lanes<R, Lanes>(second, other[2], g);
      h = multiply_add_lanes<R, Lanes>(second, other[3], h);
    }
    const Lanes all[8] = {a, b, c, d, e, f, g, h};
    if constexpr (is_complex) {
      R reals[8 * lanes];
      std::memcpy(reals, all, sizeof(all));
      const R* times_i = reals + 4 * lanes;
      for (index_t j = 0; j < width; ++j) {
        sums[j] = {reals[2 * j] - times_i[2 * j + 1], reals[2 * j + 1] + times_i[2 * j]};
      }
    } else {
      std::memcpy(sums, all, sizeof(all));
    }
  }
};

}  // namespace weft::kernels

#endif
