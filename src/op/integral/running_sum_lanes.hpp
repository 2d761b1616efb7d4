#pragma once

// Running sums of contiguous elements in SIMD registers, for running_sum_cpu.hpp only.

#include <weft/core/shape.hpp>

#include "kernel/kernel_math.hpp"

#include <type_traits>

namespace weft::kernels {

/// Elements are summed in registers of four doubles; complex numbers are pairs. In reverse, sums
/// begin at the last element.
template <class T>
struct ScanLanes {
  using Real = RealOf<T>;
  using Sum = SumOf<T>;
  static constexpr index_t reals = std::is_same_v<T, Real> ? 1 : 2;
  static constexpr index_t width = 4 / reals;

  using Lanes [[gnu::vector_size(32)]] = double;
  using Stored [[gnu::vector_size(4 * sizeof(Real)), gnu::aligned(alignof(Real)), gnu::may_alias]] =
      Real;

  static Lanes load(const T* x) {
    return __builtin_convertvector(*reinterpret_cast<const Stored*>(x), Lanes);
  }
  static void store(Lanes lanes, T* y) {
    using Converted [[gnu::vector_size(4 * sizeof(Real))]] = Real;
    *reinterpret_cast<Stored*>(y) = __builtin_convertvector(lanes, Converted);
  }
  static Lanes broadcast(Sum sum) {
    if constexpr (reals == 2) {
      return Lanes{sum.re, sum.im, sum.re, sum.im};
    } else {
      return Lanes{sum, sum, sum, sum};
    }
  }
  static Sum first_of(Lanes lanes) {
    if constexpr (reals == 2) {
      return {lanes[0], lanes[1]};
    } else {
      return lanes[0];
    }
  }

  /// The sums up to each element of a register.
  template <bool reverse>
  static Lanes sums_within(Lanes x) {
    const Lanes zero{};
    if constexpr (reals == 1) {
      x += reverse ? __builtin_shufflevector(x, zero, 1, 2, 3, 4)
                   : __builtin_shufflevector(x, zero, 4, 0, 1, 2);
    }
    x += reverse ? __builtin_shufflevector(x, zero, 2, 3, 4, 4)
                 : __builtin_shufflevector(x, zero, 4, 4, 0, 1);
    return x;
  }
  /// The last of these sums in all elements.
  template <bool reverse>
  static Lanes total_of(Lanes sums) {
    if constexpr (reals == 2) {
      return reverse ? __builtin_shufflevector(sums, sums, 0, 1, 0, 1)
                     : __builtin_shufflevector(sums, sums, 2, 3, 2, 3);
    } else {
      return reverse ? __builtin_shufflevector(sums, sums, 0, 0, 0, 0)
                     : __builtin_shufflevector(sums, sums, 3, 3, 3, 3);
    }
  }

  /// Runs through a line piece by piece: y = scale (before + sum up to x), less half of x with
  /// `halves`. All pieces but the last have a multiple of `width` elements.
  template <bool reverse, bool halves>
  class Scan {
   public:
    Scan(Sum before, double scale) : before_(broadcast(before)), scale_(scale) {}

    void run(const T* x, index_t count, T* y) {
      constexpr index_t prefetch = 2048 / index_t{sizeof(T)} * (reverse ? -1 : 1);
      const index_t whole = count / width * width;
      Lanes sum = sum_;
      for (index_t done = 0; done < whole; done += width) {
        const index_t at = reverse ? count - done - width : done;
        __builtin_prefetch(x + at + prefetch);
        const Lanes value = load(x + at);
        const Lanes sums = sums_within<reverse>(value);
        const Lanes total = before_ + sum + sums;
        store(scale_ * (halves ? total - 0.5 * value : total), y + at);
        sum += total_of<reverse>(sums);
      }
      sum_ = sum;
      for (index_t done = whole; done < count; ++done) {
        const index_t at = reverse ? count - done - 1 : done;
        const Lanes value = broadcast(Sum(x[at]));
        sum_ += value;
        const Lanes total = before_ + sum_;
        y[at] = convert_to<T>(first_of(scale_ * (halves ? total - 0.5 * value : total)));
      }
    }
    Sum sum() const { return first_of(sum_); }

   private:
    Lanes before_;
    Lanes sum_{};
    double scale_;
  };

  /// The sum of all elements, added in the order of Scan.
  template <bool reverse>
  static Sum total(const T* x, index_t count) {
    const index_t whole = count / width * width;
    Lanes sum{};
    for (index_t done = 0; done < whole; done += width) {
      const index_t at = reverse ? count - done - width : done;
      sum += total_of<reverse>(sums_within<reverse>(load(x + at)));
    }
    for (index_t done = whole; done < count; ++done) {
      sum += broadcast(Sum(x[reverse ? count - done - 1 : done]));
    }
    return first_of(sum);
  }
};

}  // namespace weft::kernels
