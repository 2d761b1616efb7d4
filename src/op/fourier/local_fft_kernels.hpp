#pragma once

#include <weft/core/shape.hpp>
#include <weft/kernel/complex.hpp>

namespace weft::kernels {

/// y[o, k, i] = alpha w x[o, k, i] + beta y[o, k, i] for the frequencies 0 <= k <= nfft / 2 of a
/// real transform, where w is 1 for those that are their own negative and `weight` for the others;
/// with beta = 0, y is not read.
template <class Device, class R>
void weight_half(Device device, index_t outer, index_t nfft, index_t inner, Complex<R> alpha,
                 R weight, const Complex<R>* x, Complex<R> beta, Complex<R>* y);
/// y = w x, and real for the frequencies that are their own negative.
template <class Device, class R>
void weight_hermitian(Device device, index_t outer, index_t nfft, index_t inner, R weight,
                      const Complex<R>* x, Complex<R>* y);

}  // namespace weft::kernels
