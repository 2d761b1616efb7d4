#pragma once

// The input arrays of the problems.

#include <weft/weft.hpp>

#include "noise.hpp"

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

namespace compare {

template <class T>
T noise_of(weft::index_t at, std::uint64_t seed) {
  const auto i = static_cast<std::uint64_t>(at);
  if constexpr (weft::is_complex<T>) {
    using R = weft::Real<T>;
    return {static_cast<R>(noise(2 * i, seed)), static_cast<R>(noise(2 * i + 1, seed))};
  } else {
    return static_cast<T>(noise(i, seed));
  }
}

/// Element i in row-major order is noise(i); each part of a stack increments the seed.
template <class T>
void fill_noise(const weft::ArrayView<T>& x, std::uint64_t seed, double factor = 1) {
  if (x.layout().is_stack()) {
    for (int part = 0; part < x.layout().part_count(); ++part) {
      fill_noise(x.part(part), seed + static_cast<std::uint64_t>(part), factor);
    }
    return;
  }
  const weft::Shape shape = x.shape();
  const auto scale = static_cast<weft::Real<T>>(factor);
  x.fill([&](const weft::Index& at) { return scale * noise_of<T>(weft::linear(shape, at), seed); });
}

template <class T>
void fill_noise(weft::DistributedArray<T>& x, std::uint64_t seed, double factor = 1) {
  fill_noise(weft::ArrayView<T>(x), seed, factor);
}

/// The wavelet of PyLops-MPI's tutorials: 41 samples every 4 ms, peak frequency 15 Hz.
inline std::vector<double> wavelet() {
  std::vector<double> samples;
  for (int i = -20; i <= 20; ++i) {
    const double x = std::numbers::pi * 15 * 0.004 * i;
    samples.push_back((1 - 2 * x * x) * std::exp(-x * x));
  }
  return samples;
}

/// Layers that dip along both other axes, on a trend: [y, x, time].
inline double log_impedance(const weft::Shape& shape, const weft::Index& at) {
  const weft::index_t layer = (at[2] + at[1] / 4 + at[0] / 2) / 25;
  return 8 + 0.4 * static_cast<double>(at[2]) / static_cast<double>(shape[2]) +
         0.2 * noise(static_cast<std::uint64_t>(layer), 3);
}

inline double background(const weft::Shape& shape, const weft::Index& at) {
  return 8 + 0.4 * static_cast<double>(at[2]) / static_cast<double>(shape[2]);
}

}  // namespace compare
