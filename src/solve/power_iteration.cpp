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
  // The comparison is false for NaN.
  require(options.tolerance >= 0, "{}: tolerance = {}; use 0 for none, or a positive number", name,
          options.tolerance);
}

/// Throws if values are not finite, or with the text `if_negative` if Re<v, A v> is negative.
template <Scalar T>
LargestEigenvalue<T> largest_eigenvalue(const char* name, const LinearOperator<T>& a,
                                        const Layout& between, const PowerIterationOptions& options,
                                        std::string_view if_negative) {
  detail::PowerResult<T> result = detail::power_steps(a, between, options);
  const index_t last = result.largest.iterations;
  require(result.outcome != detail::PowerOutcome::not_finite,
          "{}: the operator returns values that are not finite, in iteration {}", name, last);
  require(result.outcome != detail::PowerOutcome::not_positive, "{}: {}, in iteration {}", name,
          if_negative, last);
  return std::move(result.largest);
}

/// x /= size, unless size is 0.
template <Scalar T>
void divide(DistributedArray<T>& x, double size) {
  if (size > 0) scale(static_cast<Real<T>>(1 / size), x);
}

/// Golub-Kahan bidiagonalisation from a random v of norm 1 in the domain:
///
///   u = A v - beta u,  alpha = |u|,  u = u / alpha
///   v = Aᴴu - alpha v,  beta = |v|,  v = v / beta
///
/// where alpha is the next entry of the diagonal of the bidiagonal matrix, and beta the one above
/// it.
template <Scalar D, Scalar R>
ConditionEstimate estimate_by_bidiagonalization(const LinearOperator<D, R>& a,
                                                const ConditionOptions& options) {
  detail::AgreedSums sums(a.domain(), a.range());
  detail::Bidiagonal matrix;
  const auto is_negligible = [&](double size) {
    constexpr double precision = std::numeric_limits<Real<D>>::epsilon();
    return size <= 10 * precision * matrix.largest_entry();
  };
  DistributedArray<D> v = random_array<D>(a.domain(), options.seed);
  DistributedArray<R> u(a.range());
  double alpha = 0;
  double beta = sums.norm_in_domain(v);
  bool is_done = beta == 0;
  for (index_t step = 1; step <= options.steps; ++step) {
    // v = v / beta
    divide(v, beta);
    // u = A v - beta u, alpha = |u|
    a.forward(v, u, {1, static_cast<Real<R>>(step == 1 ? 0 : -beta)});
    alpha = sums.norm_in_range(u);
    if (!is_done) matrix.extend(beta, alpha);
    // u = u / alpha
    divide(u, alpha);
    // v = Aᴴu - alpha v, beta = |v|
    a.adjoint(u, v, {1, static_cast<Real<D>>(-alpha)});
    beta = sums.norm_in_domain(v);

    // Beyond this point there are only rounding errors.
    is_done = is_done || is_negligible(alpha) || is_negligible(beta);
    const bool is_finite = std::isfinite(alpha) && std::isfinite(beta);
    const detail::IterationStatus status =
        sums.agreed(!is_finite ? detail::IterationStatus::not_finite
                    : is_done  ? detail::IterationStatus::done
                               : detail::IterationStatus::running);
    require(status != detail::IterationStatus::not_finite,
            "condition_estimate: the operator returns values that are not finite, in step {}",
            step);
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
           detail::difference("the operator takes", a.domain(), "returns", a.range()));
  }
  return largest_eigenvalue(
      "power_iteration", a, a.range(), options,
      "Re<v, A v> is negative: the operator is not positive semi-definite (use "
      "largest_singular_value())");
}

template <Scalar D, Scalar R>
LargestSingularValue<D> largest_singular_value(const LinearOperator<D, R>& a,
                                               const PowerIterationOptions& options) {
  constexpr const char* name = "largest_singular_value";
  check_power_options(name, options);
  LargestEigenvalue<D> largest = largest_eigenvalue(
      name, a.normal(), a.range(), options,
      "Re<v, AᴴA v> is negative: adjoint() does not match forward() (check with dot_test())");
  return {.singular_value = std::sqrt(std::max(0.0, largest.eigenvalue)),
          .iterations = largest.iterations,
          .converged = largest.converged,
          .vector = std::move(largest.vector)};
}

template <Scalar D, Scalar R>
ConditionEstimate condition_estimate(const LinearOperator<D, R>& a,
                                     const ConditionOptions& options) {
  require(options.steps >= 1, "condition_estimate: steps = {}; allow at least one", options.steps);
  require(
      a.domain().device() == a.range().device(),
      "condition_estimate: the operator takes arrays on {} and returns them on {}; both must be "
      "on one device",
      to_string(a.domain().device()), to_string(a.range().device()));
  // Start in the smaller space: in the larger one, A or Aᴴ has a null space, which would count as
  // singular values of 0.
  const index_t unknowns = detail::reals_in<D> * a.domain().count();
  const index_t data = detail::reals_in<R> * a.range().count();
  return unknowns <= data ? estimate_by_bidiagonalization(a, options)
                          : estimate_by_bidiagonalization(adjoint(a), options);
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
