#pragma once

// Convolution with a Gaussian along an axis, for gaussian_filter.cpp and downsample.cpp.

#include <weft/core/error.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/convolution/convolve1d.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft::detail {

inline void check_gaussian(double sigma, double truncate, const char* who) {
  require(std::isfinite(sigma) && sigma >= 0, "{}: sigma must be finite and not negative, got {}",
          who, sigma);
  require(std::isfinite(truncate) && truncate > 0,
          "{}: truncate must be finite and positive, got {}", who, truncate);
  require(sigma * truncate < 1e7, "{}: sigma {} with truncate {} gives a filter of too many taps",
          who, sigma, truncate);
}

/// The taps exp(-(j / sigma)^2 / 2) for |j| up to `truncate` standard deviations, normalized to the
/// sum 1.
inline std::vector<double> gaussian_taps(double sigma, double truncate) {
  const auto reach = static_cast<index_t>(std::floor(truncate * sigma + 0.5));
  std::vector<double> taps;
  double sum = 0;
  for (index_t j = -reach; j <= reach; ++j) {
    const double deviations = sigma > 0 ? static_cast<double>(j) / sigma : 0;
    taps.push_back(std::exp(-0.5 * deviations * deviations));
    sum += taps.back();
  }
  for (double& tap : taps) tap /= sum;
  return taps;
}

template <Scalar T>
LinearOperator<T> gaussian_along(const Layout& layout, int axis, double sigma, double truncate) {
  const std::vector<double> taps = gaussian_taps(sigma, truncate);
  if (taps.size() == 1) return identity<T>(layout);
  std::vector<T> filter(taps.size());
  std::transform(taps.begin(), taps.end(), filter.begin(),
                 [](double tap) { return T(static_cast<Real<T>>(tap)); });
  return convolve1d<T>(layout, filter, {.offset = std::ssize(taps) / 2, .axis = axis});
}

}  // namespace weft::detail
