#include "solve/power_steps.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>

#include "solve/agreed_sums.hpp"

#include <limits>

namespace weft::detail {
namespace {

PowerOutcome outcome_of(IterationStatus status) {
  switch (status) {
    case IterationStatus::done: return PowerOutcome::converged;
    case IterationStatus::running: return PowerOutcome::iteration_limit;
    case IterationStatus::not_positive: return PowerOutcome::not_positive;
    case IterationStatus::not_finite: return PowerOutcome::not_finite;
  }
  return PowerOutcome::not_finite;
}

}  // namespace

template <Scalar T>
PowerResult<T> power_steps(const LinearOperator<T>& a, const Layout& between,
                           const PowerIterationOptions& options) {
  constexpr double precision = std::numeric_limits<Real<T>>::epsilon();
  AgreedSums sums(a.domain(), between);
  PowerResult<T> result{.largest = {.vector = random_array<T>(a.domain(), options.seed)}};
  LargestEigenvalue<T>& largest = result.largest;
  DistributedArray<T>& v = largest.vector;
  DistributedArray<T> w(a.range(), uninitialized);
  // v = v / |v|
  if (const double size = sums.norm_in_domain(v); size > 0) {
    scale(static_cast<Real<T>>(1 / size), v);
  }

  IterationStatus status = IterationStatus::running;
  while (status == IterationStatus::running && largest.iterations < options.max_iterations) {
    // w = A v
    a.forward(v, w);
    // Re<v, w>, |w|²
    const auto [product, square] = sums.products(v, w);
    const double size = std::sqrt(square);
    const double change = std::abs(product - largest.eigenvalue);
    const bool is_first = largest.iterations == 0;
    ++largest.iterations;
    largest.eigenvalue = product;
    result.growth = size;

    if (!std::isfinite(size) || !std::isfinite(product)) {
      status = IterationStatus::not_finite;
    } else if (product < -precision * size) {
      status = IterationStatus::not_positive;
    } else if (size == 0 || (!is_first && change <= options.tolerance * product)) {
      status = IterationStatus::done;
    }
    status = sums.agreed(status);
    // v = w / |w|
    if (size > 0) axpby(static_cast<Real<T>>(1 / size), w, 0, v);
  }
  result.outcome = outcome_of(status);
  largest.converged = result.outcome == PowerOutcome::converged;
  return result;
}

#define INSTANTIATE(T)                                                         \
  template PowerResult<T> power_steps(const LinearOperator<T>&, const Layout&, \
                                      const PowerIterationOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
