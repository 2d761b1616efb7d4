#pragma once

// Sums along curves, for curve_operator.cpp.

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

#include <cstdint>

namespace weft::kernels {

/// Where the curves of `samples` model samples cross each of `columns` columns of `nt` elements:
/// index[column, sample] is negative if a curve is outside the column. With weights, a sample
/// contributes to the next element as well, by this weight, and by the rest to its index.
template <class R>
struct CurveTable {
  index_t columns;
  index_t samples;
  index_t nt;
  const std::int32_t* index;
  const R* weight;  // null: none
};

/// y[column, index] += x[sample] along all curves: y = alpha (sums) + beta y for y [columns, nt];
/// with beta = 0, y is not read. The order of sums is that of samples.
template <class Device, class T>
void scatter_along_curves(Device device, const CurveTable<RealOf<T>>& table, T alpha, const T* x,
                          T beta, T* y);

/// x[sample] = alpha (sum of y[column, index] over columns) + beta x[sample], accumulated in double
/// precision in the order of columns; with beta = 0, x is not read.
template <class Device, class T>
void gather_along_curves(Device device, const CurveTable<RealOf<T>>& table, T alpha, const T* y,
                         T beta, T* x);

}  // namespace weft::kernels
