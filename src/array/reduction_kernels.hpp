#pragma once

#include <weft/core/shape.hpp>

#include "array/kernel_scalars.hpp"

#include <cstdint>

// Reductions of contiguous elements.

namespace weft::kernels {

/// Sum of conj(x) y.
template <class Device, class T>
SumOf<T> dot(Device device, index_t n, const T* x, const T* y);
/// Sum of x y.
template <class Device, class T>
SumOf<T> dot_plain(Device device, index_t n, const T* x, const T* y);
/// y += a x; returns the sum of conj(z) y.
template <class Device, class T>
SumOf<T> axpy_dot(Device device, index_t n, T a, const T* x, T* y, const T* z);
template <class Device, class T>
SumOf<T> sum(Device device, index_t n, const T* x);
/// NaN if there is one; +-infinity if n is 0.
template <class Device, class T>
T min(Device device, index_t n, const T* x);
template <class Device, class T>
T max(Device device, index_t n, const T* x);
/// A hash of all bits, in whatever order threads run.
template <class Device, class T>
std::uint64_t hash(Device device, index_t n, const T* x);

/// What is summed up, or of which the extreme is taken, for a norm.
enum class NormTerm : std::uint8_t { nonzero, magnitude, square, power, largest, smallest };

/// The term over all elements, after division by `scale`.
template <class Device, class T>
double norm_terms(Device device, index_t n, const T* x, NormTerm term, double power, double scale);
/// The same for each (o, k) of [outer, n, inner], into out[o * inner + k].
template <class Device, class T>
void norm_terms_along(Device device, index_t outer, index_t n, index_t inner, const T* x,
                      NormTerm term, double power, double* out);
/// y[i] = x[i]^power
template <class Device, class R>
void raise(Device device, index_t n, double power, const double* x, R* y);

}  // namespace weft::kernels
