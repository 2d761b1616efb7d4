#include "op/fourier/local_fft_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

/// Frequencies 0 and nfft / 2.
WEFT_FUNCTION bool is_self_conjugate(index_t k, index_t nfft) { return k == 0 || 2 * k == nfft; }

template <class Device, class R, class Update>
void scale_each(Device device, index_t outer, index_t nfft, index_t inner, R weight,
                const Complex<R>* x, Complex<R>* y, Update update) {
  const index_t count = nfft / 2 + 1;
  for_each(device, outer, count, inner, [=] WEFT_KERNEL(index_t o, index_t k, index_t i) {
    const index_t at = (o * count + k) * inner + i;
    update((is_self_conjugate(k, nfft) ? R{1} : weight) * x[at], y[at]);
  });
}

}  // namespace

template <class Device, class R>
void scale_half_spectrum(Device device, index_t outer, index_t nfft, index_t inner,
                         Complex<R> alpha, R weight, const Complex<R>* x, Complex<R> beta,
                         Complex<R>* y) {
  with_update(alpha, beta,
              [&](auto update) { scale_each(device, outer, nfft, inner, weight, x, y, update); });
}

template <class Device, class R>
void scale_hermitian_spectrum(Device device, index_t outer, index_t nfft, index_t inner, R weight,
                              const Complex<R>* x, Complex<R>* y) {
  const index_t count = nfft / 2 + 1;
  for_each(device, outer, count, inner, [=] WEFT_KERNEL(index_t o, index_t k, index_t i) {
    const index_t at = (o * count + k) * inner + i;
    y[at] = is_self_conjugate(k, nfft) ? Complex<R>(x[at].re) : weight * x[at];
  });
}

#define INSTANTIATE(R)                                                                          \
  template void scale_half_spectrum(WEFT_THIS_DEVICE, index_t, index_t, index_t, Complex<R>, R, \
                                    const Complex<R>*, Complex<R>, Complex<R>*);                \
  template void scale_hermitian_spectrum(WEFT_THIS_DEVICE, index_t, index_t, index_t, R,        \
                                         const Complex<R>*, Complex<R>*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
