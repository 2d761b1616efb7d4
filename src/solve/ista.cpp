#include <weft/solve/ista.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/kernel/dispatch.hpp>

#include "core/option_checks.hpp"
#include "solve/power_steps.hpp"
#include "solve/problem.hpp"
#include "solve/proximal_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft {
namespace {

/// Power iterations find a little less than the largest eigenvalue, these rarely by more than a few
/// percent.
constexpr PowerIterationOptions roughly{.max_iterations = 50, .tolerance = 1e-3};
constexpr double safety = 1.05;
/// What a step that was too long is multiplied with, and how often at most.
constexpr double shorter = 0.7;
constexpr int most_trials = 200;

bool is_a_weight(double value) { return std::isfinite(value) && value >= 0; }

template <Scalar D>
void check_options(const char* name, const IstaOptions<D>& options, const Layout& domain) {
  require(is_a_weight(options.eps), "{}: eps = {}; use 0 for no penalty, or a positive number",
          name, options.eps);
  detail::require_enumerator(options.threshold, Threshold::half, name, "Threshold");
  if (options.step) {
    require(std::isfinite(*options.step) && *options.step > 0,
            "{}: step = {}; use a positive number, or none to have it found", name, *options.step);
  }
  for (std::size_t k = 0; k < options.decay.size(); ++k) {
    require(is_a_weight(options.decay[k]), "{}: decay[{}] = {}; use 0 or positive numbers", name, k,
            options.decay[k]);
  }
  if (!options.sparsifier) return;
  const LinearOperator<D>& s = *options.sparsifier;
  if (!(s.domain() == domain)) {
    refuse("{}: {}", name,
           detail::difference("the operator takes", domain, "the sparsifier takes", s.domain()));
  }
  require(s.range().device() == domain.device(),
          "{}: the sparsifier takes arrays on {} and gives them on {}; both must be on one device",
          name, to_string(domain.device()), to_string(s.range().device()));
}

template <Scalar D, Scalar R>
bool is_capturable(const LinearOperator<D, R>& a, const IstaOptions<D>& options) {
  const bool same_each_time = !options.backtracking && options.decay.empty();
  return same_each_time && a.capturable() &&
         (!options.sparsifier || options.sparsifier->capturable());
}

/// Sums over both can be finished as if they were over one of them.
bool are_spread_alike(const detail::SumSpace& one, const detail::SumSpace& other) {
  const auto same_ranks = [](const auto& a, const auto& b) { return a.comm == b.comm; };
  return std::equal(one.ranges().begin(), one.ranges().end(), other.ranges().begin(),
                    other.ranges().end(), same_ranks);
}

}  // namespace

template <Scalar D, Scalar R>
struct ProximalGradient<D, R>::State {
  // Squares of: r' - r of z, r', x' - x, x', x' - z. Then Re<z - x', x' - x> and P. Sums over the
  // range come first, then those over the domain. Without momentum, z is x.
  enum Slot : int { ad, rr, dx, xx, dz, turn, penalty, theta, momentum, slot_count };
  static constexpr int domain_sums = 4;
  using Seen = std::array<double, slot_count>;

  State(const LinearOperator<D, R>& the_operator, const ConstArrayView<R>& data,
        DistributedArray<D>& start, bool has_momentum, const IstaOptions<D>& ista_options)
      : a(the_operator),
        options(ista_options),
        y(data),
        x(start),
        next(a.domain(), uninitialized),
        r(a.range(), uninitialized),
        q(a.range(), uninitialized),
        range(a.range()),
        domain(a.domain()),
        coefficients(options.sparsifier ? options.sparsifier->range() : a.domain()),
        scalars(a.domain().device(), slot_count, {&range, &domain, &coefficients}) {
    options.x0.reset();
    if (options.sparsifier) c.emplace(options.sparsifier->range(), uninitialized);
    if (options.backtracking) g.emplace(a.domain(), uninitialized);
    if (!has_momentum) return;
    z.emplace(a.domain(), uninitialized);
    rz.emplace(a.range(), uninitialized);
    const double one = 1;
    copy_bytes(scalars.at(theta), scalars.device(), &one, Device::cpu(), sizeof(one));
  }

  bool has_momentum() const { return z.has_value(); }
  const DistributedArray<D>& from() const { return z ? *z : x; }
  const DistributedArray<R>& residual_there() const { return rz ? *rz : r; }
  detail::SumInto over_range(Slot slot) { return {scalars, range, slot}; }
  detail::SumInto over_domain(Slot slot) { return {scalars, domain, slot}; }
  detail::SumInto over_coefficients(Slot slot) { return {scalars, coefficients, slot}; }

  Seen seen() const {
    Seen numbers{};
    scalars.read(numbers);
    return numbers;
  }

  /// Iteration k has a threshold of its own.
  bool decays(index_t k) const { return k < std::ssize(options.decay); }
  double eps(index_t k) const {
    return options.eps * (decays(k) ? options.decay[static_cast<std::size_t>(k)] : 1.0);
  }

  void begin();
  double safe_step();
  double long_step();
  void sum_penalty_on_x();
  void step_from(const ConstArrayView<D>& start, double weight);
  void sum_changes();
  void finish_sums();
  void try_step(double weight);
  void find_step(double eps_now);
  bool is_too_long();
  void advance();

  LinearOperator<D, R> a;
  IstaOptions<D> options;
  ConstArrayView<R> y;
  DistributedArray<D>& x;
  DistributedArray<D> next;               // Aᴴ(y - A z), and then x'
  DistributedArray<R> r;                  // y - A x
  DistributedArray<R> q;                  // y - A x'
  std::optional<DistributedArray<D>> z;   // where the step begins, if not in x
  std::optional<DistributedArray<R>> rz;  // y - A z
  std::optional<DistributedArray<D>> c;   // S x'
  std::optional<DistributedArray<D>> g;   // Aᴴ(y - A z), kept for more than one trial
  detail::SumSpace range;
  detail::SumSpace domain;
  detail::SumSpace coefficients;
  detail::Scalars scalars;
  double step = 1;
  double size_of_y = 0;  // for rounding errors in backtracking
  bool found_no_step = false;
  // Of the power iterations that the step is from, if it is.
  detail::PowerEnd power_end = detail::PowerEnd::converged;
  index_t power_iterations = 0;
};

/// Everything that the first look and the first iteration need.
template <Scalar D, Scalar R>
void ProximalGradient<D, R>::State::begin() {
  a.forward(x, q);
  detail::new_residual(over_range(rr), y, q);
  copy(q, r);
  a.adjoint(r, next);
  if (options.step) {
    step = *options.step;
  } else if (options.backtracking) {
    step = long_step();
  } else {
    step = safe_step();
  }
  if (options.backtracking) {
    detail::sum_product(over_range(rr), y, y);
    scalars.finish(range, rr, 1);
    size_of_y = std::sqrt(seen()[rr]);
    detail::sum_product(over_range(rr), r, r);
  }
  if (z) {
    copy(x, *z);
    copy(r, *rz);
  }
  step_from(x, step * options.eps);
  sum_changes();
  sum_penalty_on_x();
  finish_sums();
}

/// 1 / L, or a little less. Any if L is 0.
template <Scalar D, Scalar R>
double ProximalGradient<D, R>::State::safe_step() {
  const detail::PowerSteps<D> steps = detail::power_steps(a.normal(), a.range(), roughly);
  power_end = steps.end;
  power_iterations = steps.found.iterations;
  return steps.growth == 0 ? 1 : 1 / (safety * steps.growth);
}

/// The best step along the gradient, were there no penalty: at least 1 / L. Any if that is 0.
template <Scalar D, Scalar R>
double ProximalGradient<D, R>::State::long_step() {
  a.forward(next, q);
  detail::sum_product(over_range(rr), q, q);
  detail::sum_product(over_domain(dx), next, next);
  scalars.finish(range, rr, 1, domain, 1);
  const Seen sums = seen();
  return sums[rr] > 0 ? sums[dx] / sums[rr] : 1;
}

/// A threshold of 0 changes nothing.
template <Scalar D, Scalar R>
void ProximalGradient<D, R>::State::sum_penalty_on_x() {
  if (c) {
    options.sparsifier->forward(x, *c);
  } else {
    copy(x, next);
  }
  detail::shrink(over_coefficients(penalty), options.threshold, 0, c ? *c : next);
}

/// next = x' from the gradient in it.
template <Scalar D, Scalar R>
void ProximalGradient<D, R>::State::step_from(const ConstArrayView<D>& start, double weight) {
  if (c) {
    axpby(1, start, static_cast<Real<D>>(step), next);
    options.sparsifier->forward(next, *c);
    detail::shrink(over_coefficients(penalty), options.threshold, weight, *c);
    options.sparsifier->adjoint(*c, next);
  } else {
    detail::step_and_shrink(over_coefficients(penalty), options.threshold, weight, start, step,
                            next);
  }
}

template <Scalar D, Scalar R>
void ProximalGradient<D, R>::State::sum_changes() {
  detail::sum_distance_and_size(over_domain(dx), next, x);
  if (z) detail::sum_distance_and_turn(over_domain(dz), next, *z, x);
}

template <Scalar D, Scalar R>
void ProximalGradient<D, R>::State::finish_sums() {
  const Slot first = options.backtracking ? ad : rr;
  if (are_spread_alike(domain, coefficients)) {
    scalars.finish(range, first, dx - first, domain, domain_sums + 1);
  } else {
    scalars.finish(range, first, dx - first, domain, domain_sums);
    scalars.finish(coefficients, penalty, 1);
  }
}

/// x' from the gradient in `next`, its residual, and all that is to be known of them.
template <Scalar D, Scalar R>
void ProximalGradient<D, R>::State::try_step(double weight) {
  step_from(from(), weight);
  sum_changes();
  a.forward(next, q);
  detail::new_residual(over_range(rr), y, q);
  if (options.backtracking) detail::sum_distance(over_range(ad), q, residual_there());
  finish_sums();
}

template <Scalar D, Scalar R>
void ProximalGradient<D, R>::State::find_step(double eps_now) {
  a.adjoint(residual_there(), *g);
  for (int trial = 0; trial < most_trials; ++trial) {
    copy(*g, next);
    try_step(step * eps_now);
    const bool too_long = is_too_long();
    // Groups of ranks with problems of their own try together: operators may need all of them.
    const bool alone = !range.has_groups() && !domain.has_groups();
    const bool once_more =
        alone ? too_long : domain.comm().allreduce(std::int32_t{too_long}, ReduceOp::max) != 0;
    if (!once_more) return;
    if (too_long) step *= shorter;
  }
  found_no_step = true;
}

/// For this F the test of sufficient decrease is |A d|² > |d|² / t, where A d is a difference of
/// residuals: when d is small, a difference of rounding errors. Not true of NaN.
template <Scalar D, Scalar R>
bool ProximalGradient<D, R>::State::is_too_long() {
  const Seen sums = seen();
  const double moved = std::sqrt(sums[has_momentum() ? dz : dx] / step);
  constexpr double rounding = 10 * static_cast<double>(std::numeric_limits<Real<R>>::epsilon());
  return std::sqrt(sums[ad]) > moved + rounding * (size_of_y + std::sqrt(sums[rr]));
}

template <Scalar D, Scalar R>
void ProximalGradient<D, R>::State::advance() {
  const bool restarts = has_momentum() && options.restart;
  const kernels::MomentumNumbers numbers{.sums = scalars[rr],
                                         .count = penalty - rr,
                                         .turn = restarts ? scalars[turn] : nullptr,
                                         .theta = has_momentum() ? scalars.at(theta) : nullptr,
                                         .momentum = scalars.at(momentum)};
  dispatch(scalars.device(), [&](auto device) { kernels::next_momentum(device, numbers); });
  detail::advance(scalars[momentum], next, x, z);
  detail::advance(scalars[momentum], q, r, rz);
}

template <Scalar D, Scalar R>
ProximalGradient<D, R>::ProximalGradient(const char* name, Momentum momentum,
                                         const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                                         const SolverOptions& options,
                                         const IstaOptions<D>& ista_options)
    : Solver<D>(name, a.domain(), a.range(), ista_options.x0, options,
                is_capturable(a, ista_options)) {
  detail::check_problem(name, a, y);
  check_options(name, ista_options, a.domain());
  state_ =
      std::make_unique<State>(a, y, this->own_x(), momentum == Momentum::nesterov, ista_options);
  objective_.reserve(this->history().capacity());
  state_->begin();
  if (options.checkpoint) tell_problem();
  this->begin();
}

template <Scalar D, Scalar R>
void ProximalGradient<D, R>::tell_problem() {
  State& state = *state_;
  const IstaOptions<D>& options = state.options;
  this->depends_on("eps", options.eps);
  this->depends_on("threshold", static_cast<double>(options.threshold));
  this->depends_on("backtracking", options.backtracking ? 1 : 0);
  this->depends_on("restart", options.restart ? 1 : 0);
  if (options.step) this->depends_on("step", *options.step);
  for (const double factor : options.decay) this->depends_on("decay", factor);
  this->depends_on("y", state.y);
  // An x of zero tells nothing of operators. Each iteration writes these before it reads them.
  state.a.adjoint(state.r, state.next);
  this->depends_on("the gradient", state.next, AnySolver::Origin::computed);
  if (!state.c) return;
  options.sparsifier->forward(state.next, *state.c);
  this->depends_on("S times the gradient", *state.c, AnySolver::Origin::computed);
}

template <Scalar D, Scalar R>
ProximalGradient<D, R>::~ProximalGradient() = default;

template <Scalar D, Scalar R>
double ProximalGradient<D, R>::step_length() const {
  return state_->step;
}

template <Scalar D, Scalar R>
void ProximalGradient<D, R>::iterate(int /*parity*/) {
  State& state = *state_;
  const double eps = state.eps(this->iteration());
  if (state.options.backtracking) {
    state.find_step(eps);
  } else {
    state.a.adjoint(state.residual_there(), state.next);
    state.try_step(state.step * eps);
  }
  state.advance();
}

template <Scalar D, Scalar R>
typename ProximalGradient<D, R>::Check ProximalGradient<D, R>::evaluate() {
  const State& state = *state_;
  const auto sums = state.seen();
  if (objective_.size() < this->history().size()) {
    // The solver goes on from a checkpoint, whose last entry this is.
    objective_.resize(this->history().size() - 1, std::numeric_limits<double>::quiet_NaN());
  }
  objective_.push_back(0.5 * sums[State::rr] + state.options.eps * sums[State::penalty]);
  const double change = std::sqrt(sums[State::dx]);
  const double moved = state.has_momentum() ? std::sqrt(sums[State::dz]) : change;

  Check check;
  check.residual_norm = std::sqrt(sums[State::rr]);
  check.gradient_norm = moved / state.step;
  check.converged = !state.decays(std::max<index_t>(this->iteration() - 1, 0)) &&
                    std::max(change, moved) <= this->threshold(std::sqrt(sums[State::xx]));
  check_step(check);
  this->expect_finite(check, "|y - A x|", check.residual_norm);
  this->expect_finite(check, "the change of x", change);
  this->expect_finite(check, "|x' - z| / step", check.gradient_norm);
  if (check.failure != StopReason::running && state.options.step && this->iteration() > 0) {
    check.message += fmt::format("; is the step, {}, longer than 1 / |A|²?", state.step);
  }
  if (check.failure == StopReason::running && state.found_no_step) {
    check.failure = StopReason::breakdown;
    check.message = fmt::format(
        "no step is short enough in iteration {}: the operator is not "
        "linear",
        this->iteration());
  }
  return check;
}

/// Whether there is one.
template <Scalar D, Scalar R>
void ProximalGradient<D, R>::check_step(Check& check) const {
  const State& state = *state_;
  const auto fail = [&](StopReason failure, std::string_view why) {
    check.failure = failure;
    check.message = fmt::format("no step is found for iteration {}: in power iteration {}, {}",
                                this->iteration(), state.power_iterations, why);
  };
  if (state.power_end == detail::PowerEnd::not_finite) {
    fail(StopReason::not_finite, "|AᴴA v| is not finite");
  } else if (state.power_end == detail::PowerEnd::not_positive) {
    fail(
        StopReason::breakdown,
        "Re<v, AᴴA v> is negative: the operator's adjoint is not its adjoint; see with dot_test()");
  }
  this->expect_finite(check, "the step", state.step);
}

template <Scalar D, Scalar R>
typename ProximalGradient<D, R>::Norms ProximalGradient<D, R>::true_norms() {
  // Each iteration writes these, and sums, before it reads them.
  State& state = *state_;
  copy(state.y, state.q);
  state.a.forward(state.x, state.q, {-1, 1});
  state.a.adjoint(state.q, state.next);
  state.step_from(state.x, state.step * state.options.eps);
  axpy(-1, state.x, state.next);
  return {.residual = norm(state.q), .gradient = norm(state.next) / state.step};
}

template <Scalar D, Scalar R>
void ProximalGradient<D, R>::visit_own_state(StateVisitor& visitor) {
  State& state = *state_;
  visitor.visit("x", state.x);
  visitor.visit("r", state.r);
  if (state.has_momentum()) {
    visitor.visit("z", *state.z);
    visitor.visit("r of z", *state.rz);
  }
  visitor.visit("scalars", state.scalars.memory(), state.scalars.count());
  visitor.visit("step", BufferRef(&state.step, 1), 1);
}

template <Scalar D, Scalar R>
Solution<D> ista(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options, const IstaOptions<D>& ista_options) {
  Ista<D, R> solver(a, y, options, ista_options);
  solver.run();
  return std::move(solver).solution();
}

template <Scalar D, Scalar R>
Solution<D> fista(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                  const SolverOptions& options, const IstaOptions<D>& ista_options) {
  Fista<D, R> solver(a, y, options, ista_options);
  solver.run();
  return std::move(solver).solution();
}

#define INSTANTIATE(D, R)                                                           \
  template class ProximalGradient<D, R>;                                            \
  template Solution<D> ista(const LinearOperator<D, R>&, const ConstArrayView<R>&,  \
                            const SolverOptions&, const IstaOptions<D>&);           \
  template Solution<D> fista(const LinearOperator<D, R>&, const ConstArrayView<R>&, \
                             const SolverOptions&, const IstaOptions<D>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
