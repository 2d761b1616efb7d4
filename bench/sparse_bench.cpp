// Selection of gradient elements on one rank with error feedback, against what a program without it
// would call. Uses internal headers: the selection alone is not public.

#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "report.hpp"
#include "sparse_allreduce/selectors.hpp"
#include "sparse_allreduce/sparse_engine.hpp"

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

/// Selects again and again from residual + gradient.
class Selection {
 public:
  Selection(const char* selector, const std::vector<float>& gradient)
      : context_(Comm::self(), n, options()), selector_(detail::find_selector(selector)) {
    context_.types = detail::pair_types(n, context_.options);
    detail::allocate(context_);
    context_.gradient = gradient;
    context_.k = detail::selected_elements(n, density);
  }
  void run() {
    selector_.select(context_);
    ++context_.state.calls;
  }
  index_t selected() const { return context_.picked.count; }

 private:
  static SparseOptions options() {
    SparseOptions options;
    options.density = density;
    options.oktopk.local_period = index_t{1} << 40;  // after the first call, thresholds are reused
    // The same work, but with the same elements to select in every call.
    options.error_feedback = false;
    return options;
  }

  detail::SparseContext context_;
  const detail::SparseSelector& selector_;
};

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
    Selection exact("exact", gradient);
    NthElement standard;
    report.add("exact", "std::nth_element of (value, index)",
               bench::compare(
                   5, 1, [&] { exact.run(); }, [&] { standard.run(gradient); }),
               1.0 / 5);
  }
  Selection reused("reused", gradient);
  reused.run();
  std::vector<float> target(n, 1.0F);
  report.add("reused threshold", "triad over the same bytes",
             bench::compare(
                 21, 1, [&] { reused.run(); }, [&] { triad(gradient, target); }),
             1.0 / 0.8);
  report.add_count("selected by the reused threshold / k",
                   static_cast<double>(reused.selected()) / (density * static_cast<double>(n)), 2);
  return EXIT_SUCCESS;
}
