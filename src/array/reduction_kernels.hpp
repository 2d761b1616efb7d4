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
/// A hash of all bits, in whatever order threads run.
template <class Device, class T>
void hash(Device device, index_t n, const T* x, std::uint64_t* out);

/// What is summed up, or of which the extreme is taken, for a norm.
enum class NormTerm : std::uint8_t { nonzero, magnitude, square, power, largest, smallest };

/// More than any sum of terms that have not left the range of numbers: 2^63 of them at this limit
/// add up to less than infinity.
inline constexpr double largest_term = 0x1p960;

/// A sum of squares or powers that must be taken again of scaled elements. Powers beyond the limit
/// are taken for it, so that an infinite sum of them is one of an infinite element, or, with
/// negative powers, of a zero; it is what it should be.
constexpr bool is_out_of_range(double sum, NormTerm term) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double smallest = std::numeric_limits<double>::min() * 0x1p52;
  if (term == NormTerm::square) return sum < smallest || sum == infinity;
  return sum < smallest || (sum >= largest_term && sum < infinity);
}

/// Elements can be scaled by it. Where the element that rules a sum is zero or infinite, so is the
/// norm.
constexpr bool can_scale(double ruling) {
  return ruling != 0 && ruling != std::numeric_limits<double>::infinity();
}

/// The term over all elements. Squares are those of the elements times `scale`, powers those of the
/// elements divided by it.
template <class Device, class T>
void norm_terms(Device device, index_t n, const T* x, NormTerm term, double power, double scale,
                double* out);
/// The same for each (o, k) of [outer, n, inner], into out[o * inner + k]; powers are those of the
/// elements divided by scale[o * inner + k], unless that is null.
template <class Device, class T>
void norm_terms_along(Device device, index_t outer, index_t n, index_t inner, const T* x,
                      NormTerm term, double power, const double* scale, double* out);
/// How many sums of a kind of terms are out of range; given the elements that rule them, how many
/// of those can be scaled.
template <class Device>
void count_out_of_range(Device device, index_t n, const double* sums, NormTerm term,
                        const double* ruling, double* out);

// Extremes travel as integers. The bits of non-negative numbers are ordered like the numbers, with
// NaN above all; so NaN wins a maximum, which transports do not promise for floating point. For a
// minimum it is sent as -1.

constexpr std::int64_t ordered_bits(double magnitude, bool smallest) {
  if (smallest && magnitude != magnitude) return -1;
  return std::bit_cast<std::int64_t>(magnitude) & std::numeric_limits<std::int64_t>::max();
}
constexpr double number_of_bits(std::int64_t bits) {
  return bits < 0 ? std::numeric_limits<double>::quiet_NaN() : std::bit_cast<double>(bits);
}
// With signs, the bits of negative numbers are turned round; NaN is before or after all numbers.

constexpr std::int64_t place_of(double number, bool smallest) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  if (number != number) return smallest ? std::numeric_limits<std::int64_t>::min() : last;
  const auto bits = std::bit_cast<std::int64_t>(number);
  return bits < 0 ? bits ^ last : bits;
}
/// Both places of NaN are the bits of one.
constexpr double number_at(std::int64_t place) {
  return std::bit_cast<double>(place < 0 ? place ^ std::numeric_limits<std::int64_t>::max()
                                         : place);
}
/// The same in place, into the memory of the numbers.
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
