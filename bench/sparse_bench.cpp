// Selection of gradient elements on one rank with error feedback, against what a program without it
// would call.

#include "report.hpp"
#include "sparse_bench/repeated_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

using namespace weft;

namespace {

constexpr index_t n = index_t{1} << 24;
constexpr double density = 0.01;

std::vector<float> random_gradient() {
  std::vector<float> gradient(n);
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  for (float& x : gradient) x = normal(engine);
  return gradient;
}

/// The k largest of |residual + gradient| by the standard library.
struct NthElement {
  std::vector<float> residual = std::vector<float>(n);
  std::vector<std::pair<float, std::uint32_t>> pairs =
      std::vector<std::pair<float, std::uint32_t>>(n);

  void run(const std::vector<float>& gradient) {
    for (std::uint32_t i = 0; i < n; ++i) {
      residual[i] += gradient[i];
      pairs[i] = {std::abs(residual[i]), i};
    }
    const auto k = static_cast<std::ptrdiff_t>(density * static_cast<double>(n));
    std::nth_element(pairs.begin(), pairs.begin() + k, pairs.end(), std::greater<>());
    for (std::ptrdiff_t i = 0; i < k; ++i) residual[pairs[static_cast<std::size_t>(i)].second] = 0;
  }
};

/// Reads two arrays and writes one, as error feedback does.
void triad(const std::vector<float>& x, std::vector<float>& y) {
  const float* from = x.data();
  float* to = y.data();
#pragma omp parallel for simd schedule(static)
  for (index_t i = 0; i < n; ++i) to[i] = from[i] + 0.5F * to[i];
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv, "Selection of 1 % of 2^24 floats with error feedback, 1 rank");
  bench::use_threads(2);
  const std::vector<float> gradient = random_gradient();
  {
    sparse_bench::RepeatedSelection exact("exact", gradient, density);
    NthElement standard;
    report.add("exact", "std::nth_element of (value, index)",
               bench::compare(
                   5, 1, [&] { exact.run(); }, [&] { standard.run(gradient); }),
               1.0 / 5);
  }
  sparse_bench::RepeatedSelection reused("reused", gradient, density);
  reused.run();
  std::vector<float> target(n, 1.0F);
  report.add("reused threshold", "triad over the same bytes",
             bench::compare(
                 21, 1, [&] { reused.run(); }, [&] { triad(gradient, target); }),
             1.0 / 0.8);
  report.add_count("selected by the reused threshold / k", reused.selected(), 2);
  return EXIT_SUCCESS;
}
