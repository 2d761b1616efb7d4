#pragma once

// Products with banded matrices along an axis, for axis_filter.cpp.

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// An array [outer, n, inner] with ghost cells [outer, before, inner] and [outer, after, inner] in
/// separate memory. Elements beyond the ghost cells are zero.
template <class T>
struct FilterInput {
  const T* x;
  const T* ghosts_before;
  const T* ghosts_after;
  index_t before;
  index_t after;
};

/// y[o, i, k] = alpha sum over t of c[t] x[o, i + t - first, k] + beta y[o, i, k] for 0 <= t <
/// taps, where c[t] is coefficients[t], or coefficients[t, i] if they vary; with beta = 0, y is not
/// read.
template <class Device, class T>
void apply_axis_filter(Device device, index_t outer, index_t n, index_t inner, index_t taps,
                       index_t first, const T* coefficients, bool vary, T alpha,
                       FilterInput<T> input, T beta, T* y);

}  // namespace weft::kernels
