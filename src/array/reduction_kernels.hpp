#pragma once

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

#include <bit>
#include <cstdint>
#include <limits>

// Reductions of contiguous elements. Results go to memory of the device.

namespace weft::kernels {

/// Sum of conj(x) y.
template <class Device, class T>
void dot(Device device, index_t n, const T* x, const T* y, SumOf<T>* out);
/// Sum of x y.
template <class Device, class T>
void dot_plain(Device device, index_t n, const T* x, const T* y, SumOf<T>* out);
/// y += a x, and the sum of conj(z) y.
template <class Device, class T>
void axpy_dot(Device device, index_t n, T a, const T* x, T* y, const T* z, SumOf<T>* out);
template <class Device, class T>
void sum(Device device, index_t n, const T* x, SumOf<T>* out);
/// NaN if there is one; +-infinity if n is 0.
template <class Device, class T>
void min(Device device, index_t n, const T* x, T* out);
template <class Device, class T>
void max(Device device, index_t n, const T* x, T* out);
/// A hash of all bits that does not depend on the order in which threads run.
template <class Device, class T>
void hash(Device device, index_t n, const T* x, std::uint64_t* out);
/// The number of 32-bit words in which x and y differ.
template <class Device, class T>
void count_different_words(Device device, index_t n, const T* x, const T* y, std::int64_t* out);

/// The terms of a norm: summed, or reduced to the largest or smallest.
enum class NormTerm : std::uint8_t { nonzero, magnitude, square, power, largest, smallest };

/// Powers are clamped to this limit: 2^63 of them still have a finite sum.
inline constexpr double largest_term = 0x1p960;

/// Whether a sum of squares or powers has overflowed or underflowed and must be computed again from
/// scaled elements. Since powers are clamped, a sum of them is infinite only if an element is
/// infinite (or zero, for negative powers), and is then correct.
constexpr bool is_out_of_range(double sum, NormTerm term) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double smallest = std::numeric_limits<double>::min() * 0x1p52;
  if (term == NormTerm::square) return sum < smallest || sum == infinity;
  return sum < smallest || (sum >= largest_term && sum < infinity);
}

/// Whether elements can be scaled by the dominant one. If it is zero or infinite, so is the norm.
constexpr bool can_scale(double dominant) {
  return dominant != 0 && dominant != std::numeric_limits<double>::infinity();
}

/// The sum or extreme of the terms of all elements. Squares are of the elements times `scale`,
/// powers of the elements divided by it.
template <class Device, class T>
void norm_terms(Device device, index_t n, const T* x, NormTerm term, double power, double scale,
                double* out);
/// The same for each (o, k) of [outer, n, inner], into out[o * inner + k]; powers are of the
/// elements divided by scale[o * inner + k], unless scale is null.
template <class Device, class T>
void norm_terms_along(Device device, index_t outer, index_t n, index_t inner, const T* x,
                      NormTerm term, double power, const double* scale, double* out);
/// The number of sums that are out of range; given their dominant elements, only of those that can
/// be scaled.
template <class Device>
void count_out_of_range(Device device, index_t n, const double* sums, NormTerm term,
                        const double* dominant, double* out);

// Extremes are communicated as integers, since transports do not guarantee that NaN wins a
// floating-point minimum or maximum. The bits of non-negative numbers are ordered like the numbers,
// with NaN above all. In a minimum, NaN is represented by -1.

constexpr std::int64_t ordered_bits(double magnitude, bool smallest) {
  if (smallest && magnitude != magnitude) return -1;
  return std::bit_cast<std::int64_t>(magnitude) & std::numeric_limits<std::int64_t>::max();
}
constexpr double number_of_bits(std::int64_t bits) {
  return bits < 0 ? std::numeric_limits<double>::quiet_NaN() : std::bit_cast<double>(bits);
}
// The same for numbers with signs: the bits of negative numbers are inverted, and NaN is before or
// after all numbers.

constexpr std::int64_t ordered_key(double number, bool smallest) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  if (number != number) return smallest ? std::numeric_limits<std::int64_t>::min() : last;
  const auto bits = std::bit_cast<std::int64_t>(number);
  return bits < 0 ? bits ^ last : bits;
}
/// The inverse; both keys of NaN map to a NaN.
constexpr double number_of_key(std::int64_t key) {
  return std::bit_cast<double>(key < 0 ? key ^ std::numeric_limits<std::int64_t>::max() : key);
}
/// ordered_bits() and number_of_bits() of n elements, in place.
template <class Device>
void to_ordered_bits(Device device, index_t n, bool smallest, double* x);
template <class Device>
void from_ordered_bits(Device device, index_t n, double* x);

/// y[i] = x[i]^power
template <class Device, class R>
void raise(Device device, index_t n, double power, const double* x, R* y);
/// y[i] = scale[i] scaled[i]^(1/order) where sums[i] is out of range.
template <class Device, class R>
void raise_scaled(Device device, index_t n, double order, NormTerm term, const double* sums,
                  const double* scale, const double* scaled, R* y);

}  // namespace weft::kernels
