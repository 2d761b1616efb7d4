#pragma once

// Matrices of Radon transforms in the frequency domain, from their definition.

#include "op/support/check_operator.hpp"

#include <cmath>
#include <functional>
#include <numbers>

namespace weft::test {

/// Times of a transform of nfft elements with the frequencies [first, end).
struct RadonTimes {
  double dt;
  index_t nfft;
  index_t first;
  index_t end;

  /// The element at time `to` of an impulse at time `from` after a delay in time at all
  /// frequencies.
  double delayed(index_t from, index_t to, double delay) const {
    const auto n = static_cast<double>(nfft);
    double sum = 0;
    for (index_t k = first; k < end; ++k) {
      const double weight = k == 0 || 2 * k == nfft ? 1 : 2;
      const double turns = static_cast<double>(k) * (static_cast<double>(to - from) - delay / dt);
      sum += weight * std::cos(2 * std::numbers::pi * turns / n) / n;
    }
    return sum;
  }
};

/// The matrix between arrays whose last axis is time; delay(row, column) is that of two points.
template <Scalar R>
Expected<R> radon_matrix(const Shape& domain, const Shape& range, const RadonTimes& times,
                         const std::function<double(const Index&, const Index&)>& delay) {
  const int last = domain.ndim() - 1;
  return {range.count(), domain.count(), [&](index_t row, index_t column) {
            const Index to = point_at(range, row);
            const Index from = point_at(domain, column);
            return static_cast<R>(times.delayed(from[last], to[last], delay(to, from)));
          }};
}

template <Scalar R>
double radon_tolerance() {
  return std::same_as<R, float> ? 1e-5 : 1e-13;
}

}  // namespace weft::test
