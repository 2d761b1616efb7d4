#include "solve/proximal_gradient.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/kernel/dispatch.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::detail {
namespace {

/// Power iterations approach the largest eigenvalue from below, and these are rarely off by more
/// than a few percent.
constexpr PowerIterationOptions step_estimate{.max_iterations = 50, .tolerance = 1e-3};
constexpr double safety_factor = 1.05;

constexpr double backtracking_factor = 0.7;
constexpr int max_trials = 200;

/// Sums over both can be reduced as if they were over one of them.
bool have_same_comms(const SumSpace& one, const SumSpace& other) {
  const auto same_ranks = [](const auto& a, const auto& b) { return a.comm == b.comm; };
  return std::equal(one.ranges().begin(), one.ranges().end(), other.ranges().begin(),
                    other.ranges().end(), same_ranks);
}

}  // namespace

template <Scalar D, Scalar R>
ProximalGradientRecurrence<D, R>::ProximalGradientRecurrence(
    Solver<D>& solver, const LinearOperator<D, R>& the_operator, const ConstArrayView<R>& data,
    bool with_momentum, const IstaOptions<D>& ista_options)
    : Recurrence<D>(solver),
      a(the_operator),
      settings(ista_options),
      y(data),
      next(a.domain(), uninitialized),
      r(a.range(), uninitialized),
      q(a.range(), uninitialized),
      range(a.range()),
      domain(a.domain()),
      coefficients(settings.sparsifier ? settings.sparsifier->range() : a.domain()),
      scalars(a.domain().device(), slot_count, {&range, &domain, &coefficients}) {
  settings.x0.reset();
  if (settings.sparsifier) c.emplace(settings.sparsifier->range(), uninitialized);
  if (settings.backtracking) g.emplace(a.domain(), uninitialized);
  if (with_momentum) {
    z.emplace(a.domain(), uninitialized);
    rz.emplace(a.range(), uninitialized);
    const double one = 1;
    copy_bytes(scalars.at(theta), scalars.device(), &one, Device::cpu(), sizeof(one));
  }
  objective.reserve(solver.history().capacity());

  // r = y - A x, |r|²
  a.forward(x, q);
  new_residual(over_range(rr), y, q);
  copy(q, r);
  // next = Aᴴr
  a.adjoint(r, next);
  step = initial_step();
  if (settings.backtracking) {
    sum_product(over_range(rr), y, y);
    scalars.finish(range, rr, 1);
    y_norm = std::sqrt(read_sums()[rr]);
    sum_product(over_range(rr), r, r);
  }
  // z = x, rz = r
  if (z) {
    copy(x, *z);
    copy(r, *rz);
  }
  // The first check needs |x' - x|² and the penalty P of x.
  step_and_shrink_from(x, step * settings.eps);
  sum_changes();
  sum_penalty_of_x();
  finish_sums();
  if (this->options().checkpoint) register_dependencies();
}

template <Scalar D, Scalar R>
double ProximalGradientRecurrence<D, R>::initial_step() {
  if (settings.step) return *settings.step;
  return settings.backtracking ? step_from_gradient() : step_from_power_iteration();
}

/// Slightly less than 1 / L, where L is the largest eigenvalue of AᴴA. If L = 0, any step will do.
template <Scalar D, Scalar R>
double ProximalGradientRecurrence<D, R>::step_from_power_iteration() {
  const PowerResult<D> result = power_steps(a.normal(), a.range(), step_estimate);
  power_outcome = result.outcome;
  power_iterations = result.largest.iterations;
  return result.growth == 0 ? 1 : 1 / (safety_factor * result.growth);
}

/// |g|² / |A g|², the exact line search along the gradient g without penalty: at least 1 / L. If
/// that is 0 / 0, any step will do. The gradient is in `next`.
template <Scalar D, Scalar R>
double ProximalGradientRecurrence<D, R>::step_from_gradient() {
  // q = A g, |q|², |g|²
  a.forward(next, q);
  sum_product(over_range(rr), q, q);
  sum_product(over_domain(dx), next, next);
  scalars.finish(range, rr, 1, domain, 1);
  const Sums sums = read_sums();
  return sums[rr] > 0 ? sums[dx] / sums[rr] : 1;
}

template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::register_dependencies() {
  this->depends_on("eps", settings.eps);
  this->depends_on("threshold", static_cast<double>(settings.threshold));
  this->depends_on("backtracking", settings.backtracking ? 1 : 0);
  this->depends_on("restart", settings.restart ? 1 : 0);
  if (settings.step) this->depends_on("step", *settings.step);
  for (const double factor : settings.decay) this->depends_on("decay", factor);
  this->depends_on("y", y);
  // x = 0 does not depend on the operators, but the gradient does. `next` and c are scratch here.
  a.adjoint(r, next);
  this->depends_on("the gradient", next, AnyRecurrence::Origin::computed);
  if (!c) return;
  settings.sparsifier->forward(next, *c);
  this->depends_on("S times the gradient", *c, AnyRecurrence::Origin::computed);
}

template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::iterate(int /*parity*/) {
  const double eps_now = eps(this->iteration());
  if (settings.backtracking) {
    backtrack(eps_now);
  } else {
    // next = Aᴴrz
    a.adjoint(start_residual(), next);
    take_step(step * eps_now);
  }
  advance();
}

/// x' = Sᴴ T(S (z + t next)) with the gradient in `next`, r' = y - A x', and all sums.
template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::take_step(double weight) {
  // next = x' = Sᴴ T(S (z + t next)), P(S x')
  step_and_shrink_from(start_point(), weight);
  // |x' - x|², |x'|², |x' - z|², Re<z - x', x' - x>
  sum_changes();
  // q = A x'
  a.forward(next, q);
  // q = r' = y - q, |r'|²
  new_residual(over_range(rr), y, q);
  // |A (x' - z)|² = |r' - rz|²
  if (settings.backtracking) sum_distance(over_range(ad), q, start_residual());
  finish_sums();
}

/// next = Sᴴ T(S (start + t next)) and its penalty, where T has the threshold for this weight.
template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::step_and_shrink_from(const ConstArrayView<D>& start,
                                                            double weight) {
  if (c) {
    // next = start + t next
    axpby(1, start, static_cast<Real<D>>(step), next);
    // c = S next
    settings.sparsifier->forward(next, *c);
    // c = T(c), P(c)
    shrink(over_coefficients(penalty), settings.threshold, weight, *c);
    // next = Sᴴ c
    settings.sparsifier->adjoint(*c, next);
  } else {
    // next = T(start + t next), P(next)
    step_and_shrink(over_coefficients(penalty), settings.threshold, weight, start, step, next);
  }
}

template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::backtrack(double eps_now) {
  // g = Aᴴrz
  a.adjoint(start_residual(), *g);
  for (int trial = 0; trial < max_trials; ++trial) {
    copy(*g, next);
    take_step(step * eps_now);
    const bool too_long = is_too_long();
    // Operators may be collective over all ranks, so groups with problems of their own backtrack
    // together.
    const bool alone = !range.has_groups() && !domain.has_groups();
    const bool try_again =
        alone ? too_long : domain.comm().allreduce(std::int32_t{too_long}, ReduceOp::max) != 0;
    if (!try_again) return;
    if (too_long) step *= backtracking_factor;
  }
  backtracking_failed = true;
}

/// Tests |A d|² > |d|² / t with d = x' - z, which is the sufficient-decrease condition of this F. A
/// d is a difference of residuals, and for small d a difference of rounding errors, which are
/// tolerated. False if a sum is NaN.
template <Scalar D, Scalar R>
bool ProximalGradientRecurrence<D, R>::is_too_long() {
  const Sums sums = read_sums();
  const double bound = std::sqrt(sums[has_momentum() ? dz : dx] / step);
  constexpr double rounding = 10 * static_cast<double>(std::numeric_limits<Real<R>>::epsilon());
  return std::sqrt(sums[ad]) > bound + rounding * (y_norm + std::sqrt(sums[rr]));
}

template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::advance() {
  const bool restarts = has_momentum() && settings.restart;
  const kernels::MomentumNumbers numbers{.sums = scalars[rr],
                                         .count = penalty - rr,
                                         .restart_test = restarts ? scalars[restart_test] : nullptr,
                                         .theta = has_momentum() ? scalars.at(theta) : nullptr,
                                         .momentum = scalars.at(momentum)};
  // theta' = (1 + sqrt(1 + 4 theta²)) / 2, m = (theta - 1) / theta'
  dispatch(scalars.device(), [&](auto device) { kernels::next_momentum(device, numbers); });
  // z = x' + m (x' - x), x = x'
  detail::advance(scalars[momentum], next, x, z);
  // rz = r' + m (r' - r), r = r'
  detail::advance(scalars[momentum], q, r, rz);
}

template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::sum_changes() {
  // |x' - x|², |x'|²
  sum_distance_and_size(over_domain(dx), next, x);
  // |x' - z|², Re<z - x', x' - x>
  if (z) sum_distance_and_restart_test(over_domain(dz), next, *z, x);
}

/// P(S x), with the kernel for T: a weight of 0 leaves its argument unchanged. Overwrites `next` or
/// c.
template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::sum_penalty_of_x() {
  if (c) {
    settings.sparsifier->forward(x, *c);
  } else {
    copy(x, next);
  }
  shrink(over_coefficients(penalty), settings.threshold, 0, c ? *c : next);
}

template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::finish_sums() {
  const Slot first = settings.backtracking ? ad : rr;
  if (have_same_comms(domain, coefficients)) {
    scalars.finish(range, first, dx - first, domain, domain_sums + 1);
  } else {
    scalars.finish(range, first, dx - first, domain, domain_sums);
    scalars.finish(coefficients, penalty, 1);
  }
}

template <Scalar D, Scalar R>
typename ProximalGradientRecurrence<D, R>::Sums ProximalGradientRecurrence<D, R>::read_sums()
    const {
  Sums sums{};
  scalars.read(sums);
  return sums;
}

template <Scalar D, Scalar R>
SolverCheck ProximalGradientRecurrence<D, R>::evaluate() {
  const Sums sums = read_sums();
  const std::size_t checks = this->solver().history().size();
  if (objective.size() < checks) {
    // Resumed from a checkpoint, whose last entry this is.
    objective.resize(checks - 1, std::numeric_limits<double>::quiet_NaN());
  }
  objective.push_back(0.5 * sums[rr] + settings.eps * sums[penalty]);
  const double change = std::sqrt(sums[dx]);
  const double moved = has_momentum() ? std::sqrt(sums[dz]) : change;

  SolverCheck check;
  check.residual_norm = std::sqrt(sums[rr]);
  check.gradient_norm = moved / step;
  check.converged = !decays(std::max<index_t>(this->iteration() - 1, 0)) &&
                    std::max(change, moved) <= this->threshold(std::sqrt(sums[xx]));
  check_step(check);
  this->expect_finite(check, "|y - A x|", check.residual_norm);
  this->expect_finite(check, "the change of x", change);
  this->expect_finite(check, "|x' - z| / step", check.gradient_norm);
  if (check.failure != StopReason::running && settings.step && this->iteration() > 0) {
    check.message += fmt::format("; the step, {}, may be longer than 1 / |A|²", step);
  }
  if (check.failure == StopReason::running && backtracking_failed) {
    check.failure = StopReason::breakdown;
    check.message =
        fmt::format("backtracking found no step in iteration {}: the operator is not linear",
                    this->iteration());
  }
  return check;
}

/// Records a failure if the power iterations failed to find a step.
template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::check_step(SolverCheck& check) const {
  const auto fail = [&](StopReason failure, std::string_view why) {
    check.failure = failure;
    check.message = fmt::format("no step for iteration {}: in power iteration {}, {}",
                                this->iteration(), power_iterations, why);
  };
  if (power_outcome == PowerOutcome::not_finite) {
    fail(StopReason::not_finite, "|AᴴA v| is not finite");
  } else if (power_outcome == PowerOutcome::not_positive) {
    fail(StopReason::breakdown,
         "Re<v, AᴴA v> is negative: adjoint() does not match forward(); check with dot_test()");
  }
  this->expect_finite(check, "the step", step);
}

template <Scalar D, Scalar R>
SolverNorms ProximalGradientRecurrence<D, R>::true_norms() {
  // q, next, c and the sums are scratch: an iteration writes them before it reads them.
  // q = y - A x
  copy(y, q);
  a.forward(x, q, {-1, 1});
  // next = Aᴴq
  a.adjoint(q, next);
  // next = Sᴴ T(S (x + t next)) - x
  step_and_shrink_from(x, step * settings.eps);
  axpy(-1, x, next);
  return {.residual = norm(q), .gradient = norm(next) / step};
}

template <Scalar D, Scalar R>
void ProximalGradientRecurrence<D, R>::visit_state(StateVisitor& visitor) {
  visitor.visit("x", x);
  visitor.visit("r", r);
  if (has_momentum()) {
    visitor.visit("z", *z);
    visitor.visit("r of z", *rz);
  }
  visitor.visit("scalars", scalars.memory(), scalars.count());
  visitor.visit("step", BufferRef(&step, 1), 1);
}

#define INSTANTIATE(D, R) template struct ProximalGradientRecurrence<D, R>;
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
