#include "demo/wavelet.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/array/reductions.hpp>

#include <cmath>
#include <numbers>

namespace weft::app {

std::vector<double> ricker(index_t half, double frequency) {
  std::vector<double> wavelet;
  for (index_t i = -half; i <= half; ++i) {
    const double x = std::numbers::pi * frequency * static_cast<double>(i);
    wavelet.push_back((1 - 2 * x * x) * std::exp(-x * x));
  }
  return wavelet;
}

void add_noise(DistributedArray<double>& data, double part) {
  const auto noise = random_array<double>(data.layout(), 1);
  axpy(part * norm(data) / norm(noise), noise, data);
}

}  // namespace weft::app
