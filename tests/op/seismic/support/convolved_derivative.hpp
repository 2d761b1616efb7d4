#pragma once

// The product of a convolution and a first derivative, from their definitions.

#include <weft/core/scalars.hpp>
#include <weft/core/shape.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include <vector>

namespace weft::test {

/// Entry (to, from) of the first derivative of n samples at distance 1; rows whose difference
/// reaches beyond the samples are zero.
inline double derivative_entry(index_t n, DerivativeKind kind, index_t to, index_t from) {
  const index_t before = kind == DerivativeKind::forward ? 0 : 1;
  const index_t after = kind == DerivativeKind::backward ? 0 : 1;
  if (to < before || to + after >= n) return 0;
  const double scale = 1 / static_cast<double>(before + after);
  if (from == to + after) return scale;
  return from == to - before ? -scale : 0;
}

/// Entry (to, from) of the convolution with a wavelet, whose time zero is at size / 2, times the
/// derivative.
template <Scalar T>
T convolved_derivative(const std::vector<T>& wavelet, index_t n, DerivativeKind kind, index_t to,
                       index_t from) {
  T sum{};
  for (index_t at = 0; at < n; ++at) {
    const index_t tap = to - at + std::ssize(wavelet) / 2;
    if (tap < 0 || tap >= std::ssize(wavelet)) continue;
    sum += static_cast<Real<T>>(derivative_entry(n, kind, at, from)) *
           wavelet[static_cast<std::size_t>(tap)];
  }
  return sum;
}

}  // namespace weft::test
