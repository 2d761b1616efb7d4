#pragma once

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// y[o, i, k] = alpha d[i] x[o, i, k] + beta y[o, i, k]; with beta = 0, y is not read.
template <class Device, class T>
void multiply_along(Device device, index_t outer, index_t n, index_t inner, T alpha, const T* d,
                    const T* x, T beta, T* y);
/// y[o, i, k] = alpha conj(d[i]) x[o, i, k] + beta y[o, i, k]
template <class Device, class T>
void multiply_conj_along(Device device, index_t outer, index_t n, index_t inner, T alpha,
                         const T* d, const T* x, T beta, T* y);

}  // namespace weft::kernels
