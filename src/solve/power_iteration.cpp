#include <weft/solve/power_iteration.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/core/error.hpp>
#include <weft/op/operator_algebra.hpp>

#include "op/checks.hpp"
#include "solve/bidiagonal.hpp"
#include "solve/vector_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft {
namespace {

/// How an iteration stands. Groups of ranks, which have results of their own, go on until the last
/// of them is done, and stop together if one of them has to.
enum class Standing : std::int32_t { done, running, not_positive, not_finite };

/// Sums on the host, and decisions of all ranks.
class Together {
 public:
  Together(const Layout& domain, const Layout& range)
      : domain_(domain), range_(range), scalars_(domain.device(), 2, {&domain_, &range_}) {}

  Standing agreed(Standing standing) const {
    if (!domain_.has_groups() && !range_.has_groups()) return standing;
    return static_cast<Standing>(
        domain_.comm().allreduce(static_cast<std::int32_t>(standing), ReduceOp::max));
  }

  template <Scalar T>
  double norm_in_domain(const DistributedArray<T>& x) {
    return norm(domain_, x);
  }
  template <Scalar T>
  double norm_in_range(const DistributedArray<T>& x) {
    return norm(range_, x);
  }
  /// Re<x, y> and |y|².
  template <Scalar T>
  std::array<double, 2> products(const DistributedArray<T>& x, const DistributedArray<T>& y) {
    detail::sum_products({scalars_, domain_, 0}, x, y, y);
    return finished(domain_, 2);
  }

 private:
  template <Scalar T>
  double norm(const detail::SumSpace& space, const DistributedArray<T>& x) {
    detail::sum_product({scalars_, space, 0}, x, x);
    return std::sqrt(finished(space, 1)[0]);
  }
  std::array<double, 2> finished(const detail::SumSpace& space, int count) {
    scalars_.finish(space, 0, count);
    std::array<double, 2> sums{};
    scalars_.read(sums);
    return sums;
  }

  detail::SumSpace domain_;
  detail::SumSpace range_;
  detail::Scalars scalars_;
};

void check_power_options(const PowerIterationOptions& options) {
  require(options.max_iterations >= 1, "power_iteration: max_iterations = {}; allow at least one",
          options.max_iterations);
  // Comparisons with NaN are false.
  require(options.tolerance >= 0,
          "power_iteration: tolerance = {}; use 0 for none, or a positive number",
          options.tolerance);
}

/// x /= size; an array of zeros remains what it is.
template <Scalar T>
void divide(DistributedArray<T>& x, double size) {
  if (size > 0) scale(static_cast<Real<T>>(1 / size), x);
}

/// The small matrix of condition_estimate(), from a random array in the domain.
template <Scalar D, Scalar R>
ConditionEstimate bidiagonalized(const LinearOperator<D, R>& a, const ConditionOptions& options) {
  Together all(a.domain(), a.range());
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
    const Standing standing = all.agreed(!is_finite ? Standing::not_finite
                                         : is_done  ? Standing::done
                                                    : Standing::running);
    require(standing != Standing::not_finite,
            "condition_estimate: the operator gives numbers that are not finite, in step {}", step);
    if (standing == Standing::done) break;
  }
  return matrix.condition();
}

}  // namespace

template <Scalar T>
LargestEigenvalue<T> power_iteration(const LinearOperator<T>& a,
                                     const PowerIterationOptions& options) {
  check_power_options(options);
  if (!(a.domain() == a.range())) {
    refuse("power_iteration: {}; it must map a space to itself. Use largest_singular_value()",
           detail::difference("the operator takes", a.domain(), "gives", a.range()));
  }
  constexpr double precision = std::numeric_limits<Real<T>>::epsilon();
  Together all(a.domain(), a.range());
  LargestEigenvalue<T> found{.vector = random_array<T>(a.domain(), options.seed)};
  DistributedArray<T>& v = found.vector;
  DistributedArray<T> w(a.range(), uninitialized);
  divide(v, all.norm_in_domain(v));

  while (!found.converged && found.iterations < options.max_iterations) {
    a.forward(v, w);
    const auto [product, square] = all.products(v, w);
    const double size = std::sqrt(square);
    const double change = std::abs(product - found.eigenvalue);
    const bool is_first = found.iterations == 0;
    ++found.iterations;
    found.eigenvalue = product;

    Standing standing = Standing::running;
    if (!std::isfinite(size) || !std::isfinite(product)) {
      standing = Standing::not_finite;
    } else if (product < -precision * size) {
      standing = Standing::not_positive;
    } else if (size == 0 || (!is_first && change <= options.tolerance * product)) {
      standing = Standing::done;
    }
    standing = all.agreed(standing);
    require(standing != Standing::not_finite,
            "power_iteration: the operator gives numbers that are not finite, in iteration {}",
            found.iterations);
    require(standing != Standing::not_positive,
            "power_iteration: Re<v, A v> is negative, in iteration {}: the operator is not "
            "positive semi-definite. Use largest_singular_value()",
            found.iterations);
    found.converged = standing == Standing::done;
    if (size > 0) axpby(static_cast<Real<T>>(1 / size), w, 0, v);
  }
  return found;
}

template <Scalar D, Scalar R>
LargestSingularValue<D> largest_singular_value(const LinearOperator<D, R>& a,
                                               const PowerIterationOptions& options) {
  LargestEigenvalue<D> found = power_iteration(a.normal(), options);
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
