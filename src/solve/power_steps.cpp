#include "solve/power_steps.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>

#include "solve/agreed_sums.hpp"

#include <limits>

namespace weft::detail {
namespace {

PowerEnd end_of(IterationStatus status) {
  switch (status) {
    case IterationStatus::done: return PowerEnd::converged;
    case IterationStatus::running: return PowerEnd::iteration_limit;
    case IterationStatus::not_positive: return PowerEnd::not_positive;
    case IterationStatus::not_finite: return PowerEnd::not_finite;
  }
  return PowerEnd::not_finite;
}

}  // namespace

template <Scalar T>
PowerSteps<T> power_steps(const LinearOperator<T>& a, const Layout& between,
                          const PowerIterationOptions& options) {
  constexpr double precision = std::numeric_limits<Real<T>>::epsilon();
  AgreedSums all(a.domain(), between);
  PowerSteps<T> steps{.found = {.vector = random_array<T>(a.domain(), options.seed)}};
  LargestEigenvalue<T>& found = steps.found;
  DistributedArray<T>& v = found.vector;
  DistributedArray<T> w(a.range(), uninitialized);
  if (const double size = all.norm_in_domain(v); size > 0) {
    scale(static_cast<Real<T>>(1 / size), v);
  }

  IterationStatus status = IterationStatus::running;
  while (status == IterationStatus::running && found.iterations < options.max_iterations) {
    a.forward(v, w);
    const auto [product, square] = all.products(v, w);
    const double size = std::sqrt(square);
    const double change = std::abs(product - found.eigenvalue);
    const bool is_first = found.iterations == 0;
    ++found.iterations;
    found.eigenvalue = product;
    steps.growth = size;

    if (!std::isfinite(size) || !std::isfinite(product)) {
      status = IterationStatus::not_finite;
    } else if (product < -precision * size) {
      status = IterationStatus::not_positive;
    } else if (size == 0 || (!is_first && change <= options.tolerance * product)) {
      status = IterationStatus::done;
    }
    status = all.agreed(status);
    if (size > 0) axpby(static_cast<Real<T>>(1 / size), w, 0, v);
  }
  steps.end = end_of(status);
  found.converged = steps.end == PowerEnd::converged;
  return steps;
}

#define INSTANTIATE(T)                                                        \
  template PowerSteps<T> power_steps(const LinearOperator<T>&, const Layout&, \
                                     const PowerIterationOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
