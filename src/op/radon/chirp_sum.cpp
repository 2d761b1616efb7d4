// Chirp transforms. With a = p - n/2, b = q - n/2 and c(a) = exp(i pi f spacing a^2),
//   exp(2 pi i f spacing a b) = c(a) c(b) conj(c(a - b)),
// so that a sum over p is a product with c, a convolution with conj(c), and a product with c.

#include <weft/op/basic/diagonal.hpp>
#include <weft/op/fourier/fft.hpp>

#include "op/fourier/fast_length.hpp"
#include "op/radon/phase_sum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::detail {
namespace {

/// exp(i pi turns a^2)
template <Scalar C>
C chirp(double turns, index_t a) {
  const double half_turns = turns * static_cast<double>(a) * static_cast<double>(a);
  const double angle = std::numbers::pi * std::remainder(half_turns, 2.0);
  return C(static_cast<Real<C>>(std::cos(angle)), static_cast<Real<C>>(std::sin(angle)));
}

/// The product with chirps of position(index along the axis).
template <Scalar C, class F>
DistributedArray<C> chirps(const Layout& layout, int axis, double turns, F position) {
  DistributedArray<C> values(layout);
  const int last = layout.ndim() - 1;
  values.fill([&](const Index& at) {
    return chirp<C>(turns * static_cast<double>(at[last]), position(at[axis]));
  });
  return values;
}

}  // namespace

template <Scalar C>
LinearOperator<C> chirp_sum(const Layout& layout, int axis, double spacing, double df) {
  const index_t n = layout.shape()[axis];
  const index_t length = fast_length(2 * n - 1);
  const auto transform = fft<C>(layout, {.axis = axis, .nfft = length, .norm = FftNorm::none});
  const auto along_axis =
      chirps<C>(layout, axis, spacing * df, [&](index_t p) { return p - n / 2; });
  // conj(c(m)) for -n < m < n, wrapped around; elements in between do not reach the result.
  const auto lags = chirps<C>(transform.range(), axis, -spacing * df,
                              [&](index_t m) { return std::min(m, length - m); });
  const auto unpadded = fft<C>(transform.range(), {.axis = axis, .norm = FftNorm::none});
  const auto outer = diagonal<C>(along_axis);
  return (Real<C>(1) / static_cast<Real<C>>(length)) *
         (outer * adjoint(transform) * diagonal<C>(unpadded * lags) * transform * outer);
}

#define INSTANTIATE(R)                                                                            \
  template LinearOperator<std::complex<R>> chirp_sum<std::complex<R>>(const Layout&, int, double, \
                                                                      double);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::detail
