#pragma once

// Weights of half spectra, for local_fft.cpp.

#include <weft/core/shape.hpp>
#include <weft/kernel/complex.hpp>

namespace weft::kernels {

/// y[o, k, i] = alpha w[k] x[o, k, i] + beta y[o, k, i] for the frequencies 0 <= k <= nfft / 2 of a
/// real transform, where w[k] is 1 for k = 0 and k = nfft / 2, otherwise `weight`. With beta = 0, y
/// is not read.
template <class Device, class R>
void scale_half_spectrum(Device device, index_t outer, index_t nfft, index_t inner,
                         Complex<R> alpha, R weight, const Complex<R>* x, Complex<R> beta,
                         Complex<R>* y);
/// y[o, k, i] = w[k] x[o, k, i], and its real part for k = 0 and k = nfft / 2.
template <class Device, class R>
void scale_hermitian_spectrum(Device device, index_t outer, index_t nfft, index_t inner, R weight,
                              const Complex<R>* x, Complex<R>* y);

}  // namespace weft::kernels
