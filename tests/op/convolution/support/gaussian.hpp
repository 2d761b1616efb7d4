#pragma once

// Elements of Gaussian filters, from their definition.

#include <weft/core/scalars.hpp>
#include <weft/core/shape.hpp>

#include <cmath>
#include <concepts>
#include <cstdlib>

namespace weft::test {

/// The factor of x[from] in y[to] along one axis, with `reach` samples on each side.
inline double gaussian(index_t to, index_t from, double sigma, index_t reach) {
  if (std::abs(to - from) > reach) return 0;
  double sum = 0;
  for (index_t j = -reach; j <= reach; ++j) {
    sum += std::exp(-static_cast<double>(j * j) / (2 * sigma * sigma));
  }
  return std::exp(-static_cast<double>((to - from) * (to - from)) / (2 * sigma * sigma)) / sum;
}

/// The relative tolerance of filters whose taps are not exact.
template <Scalar T>
inline constexpr double tolerance = std::same_as<Real<T>, float> ? 5e-6 : 1e-14;

}  // namespace weft::test
