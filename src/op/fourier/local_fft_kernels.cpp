#include "op/fourier/local_fft_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

WEFT_FUNCTION bool is_own_negative(index_t k, index_t nfft) { return k == 0 || 2 * k == nfft; }

template <class Device, class R, class Put>
void weight_each(Device device, index_t outer, index_t nfft, index_t inner, R weight,
                 const Complex<R>* x, Complex<R>* y, Put put) {
  const index_t count = nfft / 2 + 1;
  for_each(device, outer, count, inner, [=] WEFT_KERNEL(index_t o, index_t k, index_t i) {
    const index_t at = (o * count + k) * inner + i;
    put((is_own_negative(k, nfft) ? R{1} : weight) * x[at], y[at]);
  });
}

}  // namespace

template <class Device, class R>
void weight_half(Device device, index_t outer, index_t nfft, index_t inner, Complex<R> alpha,
                 R weight, const Complex<R>* x, Complex<R> beta, Complex<R>* y) {
  with_update(alpha, beta,
              [&](auto put) { weight_each(device, outer, nfft, inner, weight, x, y, put); });
}

template <class Device, class R>
void weight_hermitian(Device device, index_t outer, index_t nfft, index_t inner, R weight,
                      const Complex<R>* x, Complex<R>* y) {
  const index_t count = nfft / 2 + 1;
  for_each(device, outer, count, inner, [=] WEFT_KERNEL(index_t o, index_t k, index_t i) {
    const index_t at = (o * count + k) * inner + i;
    y[at] = is_own_negative(k, nfft) ? Complex<R>(x[at].re) : weight * x[at];
  });
}

#define INSTANTIATE(R)                                                                  \
  template void weight_half(WEFT_THIS_DEVICE, index_t, index_t, index_t, Complex<R>, R, \
                            const Complex<R>*, Complex<R>, Complex<R>*);                \
  template void weight_hermitian(WEFT_THIS_DEVICE, index_t, index_t, index_t, R,        \
                                 const Complex<R>*, Complex<R>*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
