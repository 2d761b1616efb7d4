#pragma once

// Sums over taps along several axes, for convolve_nd.cpp.

#include "op/convolution/padded_rows.hpp"

namespace weft::kernels {

/// y[i] = alpha sum over t of c[t] x[i + shifts[t]] + beta y[i] for the elements i of an array,
/// whose rows have their inputs in the padded array x; with beta = 0, y is not read.
template <class Device, class T>
void apply_grid_filter(Device device, PaddedRows rows, index_t taps, const index_t* shifts,
                       const T* c, T alpha, const T* x, T beta, T* y);

}  // namespace weft::kernels
