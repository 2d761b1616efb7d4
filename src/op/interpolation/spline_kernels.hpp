#pragma once

// The tridiagonal systems of cubic splines, for spline_moments.cpp.

#include "kernel/kernel_scalars.hpp"

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// The matrix with 4 on the diagonal and 1 beside it, over positions 1 to n - 2 of an axis, and its
/// factors: inverses[i] is 1 / u[i] with u[0] = 4 and u[i] = 4 - inverses[i - 1], which is constant
/// after a few rows; the table repeats its last element.
template <class T>
struct SplineSystem {
  index_t outer;
  index_t n;
  index_t inner;
  const RealOf<T>* inverses;
  index_t inverse_count;
};

/// z[i] = (d[i] - z[i - 1]) / u[i - 1] along the axis.
template <class Device, class T>
void eliminate_spline(Device device, SplineSystem<T> system, const T* d, T* z);
/// m[i] = z[i] - m[i + 1] / u[i - 1] along the axis, m = 0 at both ends, and y = alpha m + beta y;
/// with beta = 0, y is not read.
template <class Device, class T>
void substitute_spline(Device device, SplineSystem<T> system, const T* z, T alpha, T beta, T* y);

}  // namespace weft::kernels
