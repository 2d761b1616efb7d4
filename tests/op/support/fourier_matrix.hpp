#pragma once

// Matrices of Fourier transforms, from their definition.

#include <weft/op/fourier/fft.hpp>

#include "op/support/check_operator.hpp"

#include <cmath>
#include <numbers>

namespace weft::test {

/// A transform along one axis, as the factor that it contributes to the entries of a matrix.
struct FourierAxis {
  int axis;
  index_t n;
  index_t nfft;
  bool half = false;
  bool ifftshift = false;
  bool fftshift = false;

  index_t count() const { return half ? nfft / 2 + 1 : nfft; }
  std::complex<double> factor(index_t row, index_t column) const {
    const index_t k = fftshift ? (row + count() - count() / 2) % count() : row;
    const index_t j = ifftshift ? (column + n - n / 2) % n : column;
    if (j >= nfft) return 0;
    const double turns = static_cast<double>(j * k % nfft) / static_cast<double>(nfft);
    const double weight = half && k != 0 && 2 * k != nfft ? std::numbers::sqrt2 : 1;
    return std::polar(weight, -2 * std::numbers::pi * turns);
  }
};

/// The matrix of a transform along axes of an array, times a factor.
template <Scalar D>
Expected<D, Spectrum<D>> fourier_matrix(const Shape& shape, const std::vector<FourierAxis>& axes,
                                        double factor) {
  Shape range = shape;
  for (const FourierAxis& axis : axes) range = range.with(axis.axis, axis.count());
  return {range.count(), shape.count(), [&](index_t row, index_t column) {
            const Index k = point_at(range, row);
            const Index j = point_at(shape, column);
            std::complex<double> entry = factor;
            Index elsewhere = k;
            for (const FourierAxis& axis : axes) {
              entry *= axis.factor(k[axis.axis], j[axis.axis]);
              elsewhere[axis.axis] = j[axis.axis];
            }
            return Spectrum<D>(elsewhere == j ? entry : 0);
          }};
}

template <Scalar T>
double fft_tolerance() {
  return std::same_as<Real<T>, float> ? 3e-6 : 1e-14;
}

}  // namespace weft::test
