#pragma once

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// y[o, k] = alpha sum over i of x[o, i, k] + beta y[o, k]; with beta = 0, y is not read.
template <class Device, class T>
void sum_lines(Device device, index_t outer, index_t n, index_t inner, T alpha, const T* x, T beta,
               T* y);

}  // namespace weft::kernels
