#include <weft/solve/power_iteration.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>

#include "op/checks.hpp"
#include "solve/agreed_sums.hpp"
#include "solve/bidiagonal.hpp"
#include "solve/power_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace weft {
namespace {

void check_power_options(const char* name, const PowerIterationOptions& options) {
  require(options.max_iterations >= 1, "{}: max_iterations = {}; allow at least one", name,
          options.max_iterations);
  // Comparisons with NaN are false.
  require(options.tolerance >= 0, "{}: tolerance = {}; use 0 for none, or a positive number", name,
          options.tolerance);
}

/// What power iterations find, or an error: if numbers are not finite, or if Re<v, A v> is
/// negative, which means what `otherwise` says.
template <Scalar T>
LargestEigenvalue<T> found_by(const char* name, const LinearOperator<T>& a, const Layout& between,
                              const PowerIterationOptions& options, std::string_view otherwise) {
  detail::PowerSteps<T> steps = detail::power_steps(a, between, options);
  const index_t last = steps.found.iterations;
  require(steps.end != detail::PowerEnd::not_finite,
          "{}: the operator gives numbers that are not finite, in iteration {}", name, last);
  require(steps.end != detail::PowerEnd::not_positive, "{}: {}, in iteration {}", name, otherwise,
          last);
  return std::move(steps.found);
}

/// x /= size; an array of zeros remains what it is.
template <Scalar T>
void divide(DistributedArray<T>& x, double size) {
  if (size > 0) scale(static_cast<Real<T>>(1 / size), x);
}

/// The small matrix of condition_estimate(), from a random array in the domain.
template <Scalar D, Scalar R>
ConditionEstimate bidiagonalized(const LinearOperator<D, R>& a, const ConditionOptions& options) {
  detail::AgreedSums all(a.domain(), a.range());
  detail::Bidiagonal matrix;
  const auto is_negligible = [&](double size) {
    constexpr double precision = std::numeric_limits<Real<D>>::epsilon();
    return size <= 10 * precision * matrix.largest_entry();
  };
  DistributedArray<D> v = random_array<D>(a.domain(), options.seed);
  DistributedArray<R> u(a.range());
  double alpha = 0;
  double beta = all.norm_in_domain(v);
  bool is_done = beta == 0;
  for (index_t step = 1; step <= options.steps; ++step) {
    divide(v, beta);
    a.forward(v, u, {1, static_cast<Real<R>>(step == 1 ? 0 : -beta)});
    alpha = all.norm_in_range(u);
    if (!is_done) matrix.extend(beta, alpha);
    divide(u, alpha);
    a.adjoint(u, v, {1, static_cast<Real<D>>(-alpha)});
    beta = all.norm_in_domain(v);

    // What is left is nothing but rounding errors.
    is_done = is_done || is_negligible(alpha) || is_negligible(beta);
    const bool is_finite = std::isfinite(alpha) && std::isfinite(beta);
    const detail::IterationStatus status =
        all.agreed(!is_finite ? detail::IterationStatus::not_finite
                   : is_done  ? detail::IterationStatus::done
                              : detail::IterationStatus::running);
    require(status != detail::IterationStatus::not_finite,
            "condition_estimate: the operator gives numbers that are not finite, in step {}", step);
    if (status == detail::IterationStatus::done) break;
  }
  return matrix.condition();
}

}  // namespace

template <Scalar T>
LargestEigenvalue<T> power_iteration(const LinearOperator<T>& a,
                                     const PowerIterationOptions& options) {
  check_power_options("power_iteration", options);
  if (!(a.domain() == a.range())) {
    refuse("power_iteration: {}; it must map a space to itself. Use largest_singular_value()",
           detail::difference("the operator takes", a.domain(), "gives", a.range()));
  }
  return found_by("power_iteration", a, a.range(), options,
                  "Re<v, A v> is negative: the operator is not positive semi-definite (use "
                  "largest_singular_value())");
}

template <Scalar D, Scalar R>
LargestSingularValue<D> largest_singular_value(const LinearOperator<D, R>& a,
                                               const PowerIterationOptions& options) {
  constexpr const char* name = "largest_singular_value";
  check_power_options(name, options);
  LargestEigenvalue<D> found = found_by(
      name, a.normal(), a.range(), options,
      "Re<v, AᴴA v> is negative: the operator's adjoint is not its adjoint (see with dot_test())");
  return {.singular_value = std::sqrt(std::max(0.0, found.eigenvalue)),
          .iterations = found.iterations,
          .converged = found.converged,
          .vector = std::move(found.vector)};
}

template <Scalar D, Scalar R>
ConditionEstimate condition_estimate(const LinearOperator<D, R>& a,
                                     const ConditionOptions& options) {
  require(options.steps >= 1, "condition_estimate: steps = {}; allow at least one", options.steps);
  require(a.domain().device() == a.range().device(),
          "condition_estimate: the operator takes arrays on {} and gives them on {}; both must be "
          "on one device",
          to_string(a.domain().device()), to_string(a.range().device()));
  // Only the smaller of the two spaces has nothing but what A can tell from zero.
  const index_t unknowns = detail::reals_in<D> * a.domain().count();
  const index_t data = detail::reals_in<R> * a.range().count();
  return unknowns <= data ? bidiagonalized(a, options) : bidiagonalized(adjoint(a), options);
}

#define INSTANTIATE(T)                                                    \
  template LargestEigenvalue<T> power_iteration(const LinearOperator<T>&, \
                                                const PowerIterationOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE
#define INSTANTIATE(D, R)                                                                \
  template LargestSingularValue<D> largest_singular_value(const LinearOperator<D, R>&,   \
                                                          const PowerIterationOptions&); \
  template ConditionEstimate condition_estimate(const LinearOperator<D, R>&,             \
                                                const ConditionOptions&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
