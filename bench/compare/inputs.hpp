#pragma once

// The numbers that problems are made of. pylops_side.py and petsc_side.cpp make the same ones:
// whole numbers decide, so that they do not depend on a language's sine.

#include <weft/weft.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

namespace compare {

/// Between -1/2 and 1/2, as good as random.
inline double noise(std::uint64_t at, std::uint64_t seed) {
  constexpr std::uint64_t mask = 0xffffffff;
  std::uint64_t h = (at * 2654435761U + seed * 40503U + 1) & mask;
  h ^= h >> 15;
  h = (h * 2246822519U) & mask;
  h ^= h >> 13;
  h = (h * 3266489917U) & mask;
  h ^= h >> 16;
  return static_cast<double>(h) / 4294967296.0 - 0.5;
}

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

/// Element i in row-major order is noise(i); part p of a stack takes the seed after that of p - 1.
template <class T>
void fill_noise(weft::DistributedArray<T>& x, std::uint64_t seed, double factor = 1) {
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

/// The wavelet of PyLops-MPI's tutorials: 41 samples every 4 ms, strongest at 15 Hz.
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
