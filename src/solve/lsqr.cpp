#include <weft/solve/lsqr.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/kernel/dispatch.hpp>

#include "solve/lsqr_kernels.hpp"
#include "solve/problem.hpp"
#include "solve/vector_steps.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace weft {
namespace {

using kernels::LsqrNumbers;

constexpr std::size_t number_count = sizeof(LsqrNumbers) / sizeof(double);

template <Scalar D>
void check_lsqr_options(const LsqrOptions<D>& options) {
  const auto require_tolerance = [](const char* name, const std::optional<double>& tolerance) {
    // Comparisons with NaN are false.
    require(!tolerance || *tolerance >= 0, "lsqr: {} = {}; use 0 for none, or a positive number",
            name, tolerance.value_or(0));
  };
  require(std::isfinite(options.damp) && options.damp >= 0,
          "lsqr: damp = {}; use 0 for none, or a positive number", options.damp);
  require_tolerance("atol", options.atol);
  require_tolerance("btol", options.btol);
  require(options.condition_limit > 0,
          "lsqr: condition_limit = {}; use a positive number, or infinity for none",
          options.condition_limit);
}

/// The root of |y - A x|² + damp² |x|² less its second term.
double undamped(double damped_residual_norm, double damp, double x_norm) {
  const double rest = damp * x_norm;
  return std::sqrt(std::max(0.0, (damped_residual_norm - rest) * (damped_residual_norm + rest)));
}

}  // namespace

template <Scalar D, Scalar R>
struct Lsqr<D, R>::State {
  // The sums among LsqrNumbers.
  enum Slot : int { uu, tt, xx, ww, vv };

  State(const LinearOperator<D, R>& the_operator, const ConstArrayView<R>& data,
        const SolverOptions& options, const LsqrOptions<D>& lsqr_options)
      : a(the_operator),
        damp(lsqr_options.damp),
        starts_from_zero(!lsqr_options.x0),
        atol(lsqr_options.atol.value_or(options.relative_tolerance)),
        btol(lsqr_options.btol.value_or(options.relative_tolerance)),
        condition_limit(lsqr_options.condition_limit),
        y(data),
        u(y.layout(), uninitialized),
        q(y.layout(), uninitialized),
        v(a.domain()),
        w(a.domain()),
        s(a.domain(), uninitialized),
        domain(a.domain()),
        range(a.range()),
        scalars(a.domain().device(), static_cast<int>(number_count), {&domain, &range}) {
    if (damp != 0 && !starts_from_zero) tail.emplace(a.domain(), uninitialized);
    if (lsqr_options.variance) variance.emplace(a.domain());
  }

  /// What the rotations have to know of damping.
  double implicit_damp() const { return tail ? 0 : damp; }

  LsqrNumbers* numbers() { return reinterpret_cast<LsqrNumbers*>(scalars.at(0)); }

  detail::SumInto of_domain(Slot slot) { return {scalars, domain, slot}; }
  detail::SumInto of_range(Slot slot) { return {scalars, range, slot}; }

  /// u = factor q / alpha - (alpha / beta) u, and |u|²; u may be the tail.
  template <Scalar T>
  void extend_u(const detail::SumInto& into, double factor, const ConstArrayView<T>& of,
                DistributedArray<T>& to) {
    extend(into, &numbers()->alpha, &numbers()->beta, factor, of, to);
  }
  /// v = s / beta - (beta / alpha) v, and |v|².
  void extend_v() { extend(of_domain(vv), &numbers()->beta, &numbers()->alpha, 1, s, v); }
  template <Scalar T>
  void extend(const detail::SumInto& into, const double* other, const double* own, double factor,
              const ConstArrayView<T>& of, DistributedArray<T>& to) {
    const double* runs = &numbers()->runs;
    into([&](auto device, index_t first, index_t n, double* out) {
      kernels::lsqr_extend(device, detail::reals_in<T> * n, runs, other, own, factor,
                           detail::reals(of, first), detail::reals(to, first), out);
    });
  }

  /// Finishes what is known of u.
  void finish_u() {
    if (tail) {
      scalars.finish(range, uu, 1, domain, 1);
    } else {
      scalars.finish(range, uu, 1);
    }
  }

  /// Calls kernel(device, numbers) for the numbers alone.
  template <class Kernel>
  void update_numbers(Kernel kernel) {
    dispatch(scalars.device(), [&](auto device) { kernel(device, numbers()); });
  }

  LinearOperator<D, R> a;
  double damp;
  bool starts_from_zero;
  double atol;
  double btol;
  double condition_limit;
  ConstArrayView<R> y;
  DistributedArray<R> u;  // beta times the left vector of the bidiagonalisation
  DistributedArray<R> q;  // A v
  DistributedArray<D> v;  // alpha times the right one
  DistributedArray<D> w;  // along which x goes
  DistributedArray<D> s;  // Aᴴ u
  // LSQR damps what it adds to x0. So that all of x is damped, damping becomes rows of the problem
  // if there is an x0: A over damp times identity, and y over zero. This is u in these rows.
  std::optional<DistributedArray<D>> tail;
  std::optional<DistributedArray<Real<D>>> variance;
  detail::SumSpace domain;
  detail::SumSpace range;
  detail::Scalars scalars;
  double y_norm = 0;
  double least_a_norm = 0;  // |A| is at least that, as the first look at A shows
  LsqrEstimates estimates;
};

template <Scalar D, Scalar R>
Lsqr<D, R>::Lsqr(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options, const LsqrOptions<D>& lsqr_options)
    : Solver<D>("lsqr", a.domain(), a.range(), lsqr_options.x0, options, a.capturable()) {
  check_lsqr_options(lsqr_options);
  detail::check_problem("lsqr", a, y);
  state_ = std::make_unique<State>(a, y, options, lsqr_options);

  State& state = *state_;
  copy(state.y, state.u);
  state.y_norm = norm(state.y);
  if (!state.starts_from_zero) {
    const ConstArrayView<D>& x = this->x();
    a.forward(x, state.q);
    axpy(-1, state.q, state.u);
    const double x_norm = norm(x);
    if (x_norm > 0) state.least_a_norm = norm(state.q) / x_norm;
    if (state.y_norm == 0) state.y_norm = norm(state.u);
    if (state.tail) axpby(static_cast<Real<D>>(-state.damp), x, 0, *state.tail);
  }
  detail::sum_product(state.of_range(State::uu), state.u, state.u);
  if (state.tail) detail::sum_product(state.of_domain(State::tt), *state.tail, *state.tail);
  state.finish_u();
  state.update_numbers(
      [](auto device, LsqrNumbers* numbers) { kernels::lsqr_begin(device, numbers); });
  step_v();
  this->depends_on("damp", state.damp);
  this->depends_on("y", state.y);
  this->begin();
}

template <Scalar D, Scalar R>
Lsqr<D, R>::~Lsqr() = default;

template <Scalar D, Scalar R>
void Lsqr<D, R>::iterate(int /*parity*/) {
  State& state = *state_;
  state.a.forward(state.v, state.q);
  state.extend_u(state.of_range(State::uu), 1, state.q, state.u);
  if (state.tail) {
    state.extend_u(state.of_domain(State::tt), state.damp, state.v, *state.tail);
  }
  state.finish_u();
  state.update_numbers([&](auto device, LsqrNumbers* numbers) {
    kernels::lsqr_rotate(device, state.implicit_damp(), numbers);
  });
  step_v();
}

template <Scalar D, Scalar R>
void Lsqr<D, R>::step_v() {
  State& state = *state_;
  state.a.adjoint(state.u, state.s);
  if (state.tail) axpy(static_cast<Real<D>>(state.damp), *state.tail, state.s);

  const LsqrNumbers* numbers = state.numbers();
  DistributedArray<D>& x = this->own_x();
  state.of_domain(State::xx)([&](auto device, index_t first, index_t n, double* out) {
    kernels::lsqr_step(device, detail::reals_in<D> * n, numbers, detail::reals(state.v, first),
                       detail::reals(state.w, first), detail::reals(x, first), out);
  });
  if (state.variance) {
    dispatch(x.device(), [&](auto device) {
      kernels::lsqr_add_variance(device, x.local_count(), is_complex<D> ? 2 : 1, numbers,
                                 detail::reals(state.w), state.variance->data());
    });
  }
  state.extend_v();
  state.scalars.finish(state.domain, State::xx, 3);
  state.update_numbers([](auto device, LsqrNumbers* all) { kernels::lsqr_advance(device, all); });
}

template <Scalar D, Scalar R>
typename Lsqr<D, R>::Check Lsqr<D, R>::evaluate() {
  State& state = *state_;
  std::array<double, number_count> seen{};
  state.scalars.read(seen);
  const auto now = std::bit_cast<LsqrNumbers>(seen);

  LsqrEstimates& known = state.estimates;
  known.a_norm = std::max(std::sqrt(now.a_squares), state.least_a_norm);
  known.condition = std::sqrt(now.a_squares * now.d_squares);
  known.x_norm = now.x_norm;
  known.damped_residual_norm = std::hypot(now.phi_bar, std::sqrt(now.psi_squares));
  known.residual_norm = undamped(known.damped_residual_norm, state.damp, known.x_norm);
  known.gradient_norm = now.gradient_norm;

  Check check;
  check.residual_norm = known.residual_norm;
  check.gradient_norm = known.gradient_norm;
  check_norms(check);
  this->expect_finite(check, this->iteration() == 0 ? "|y - A x|" : "beta = |A v - alpha u|",
                      now.beta);
  this->expect_finite(check, "alpha = |Aᴴ u - beta v|", now.alpha);
  this->expect_finite(check, "|x|", now.x_norm);
  return check;
}

template <Scalar D, Scalar R>
void Lsqr<D, R>::check_norms(Check& check) const {
  const State& state = *state_;
  const LsqrEstimates& now = state.estimates;
  constexpr double precision = std::numeric_limits<Real<D>>::epsilon();
  const double absolute_tolerance = this->options().absolute_tolerance;

  const auto is_consistent = [&](double atol, double btol) {
    return now.damped_residual_norm <= btol * state.y_norm + atol * now.a_norm * now.x_norm;
  };
  const auto is_least = [&](double atol) {
    return now.gradient_norm <= atol * now.a_norm * now.damped_residual_norm;
  };
  const auto stop = [&](StopReason reason, std::string_view why) {
    check.converged = reason == StopReason::converged;
    if (!check.converged) check.failure = reason;
    check.message =
        fmt::format("{} in iteration {}: {}; |r| = {:.3e}, |g| = {:.3e}, cond(A) = {:.1e}",
                    check.converged ? "converged" : "stopped", this->iteration(), why,
                    now.residual_norm, now.gradient_norm, now.condition);
  };
  const auto converge = [&](std::string_view why) { stop(StopReason::converged, why); };
  const auto give_up = [&](std::string_view why) { stop(StopReason::condition_limit, why); };

  if (this->iteration() == 0 && now.gradient_norm == 0) {
    converge(state.starts_from_zero ? "x = 0 is the solution" : "x0 is the solution");
  } else if (is_consistent(state.atol, state.btol)) {
    converge("A x = y to atol and btol");
  } else if (is_least(state.atol)) {
    converge("least squares to atol");
  } else if (absolute_tolerance > 0 && now.gradient_norm <= absolute_tolerance) {
    converge("the gradient is within absolute_tolerance");
  } else if (now.condition >= state.condition_limit) {
    give_up("cond(A) exceeds condition_limit");
  } else if (is_consistent(precision, precision)) {
    converge("A x = y to machine precision");
  } else if (is_least(precision)) {
    converge("least squares to machine precision");
  } else if (now.condition >= 1 / precision) {
    give_up("cond(A) exceeds machine precision");
  }
}

template <Scalar D, Scalar R>
const LsqrEstimates& Lsqr<D, R>::estimates() const {
  return state_->estimates;
}

template <Scalar D, Scalar R>
const DistributedArray<Real<D>>& Lsqr<D, R>::variance() const {
  require(state_->variance.has_value(),
          "lsqr: there are no variances; set LsqrOptions::variance to estimate them");
  return *state_->variance;
}

template <Scalar D, Scalar R>
typename Lsqr<D, R>::Norms Lsqr<D, R>::true_norms() {
  // Each iteration writes q and s before it reads them.
  State& state = *state_;
  const auto [residual, gradient] =
      detail::least_squares_norms(state.a, state.y, state.damp, this->x(), state.q, state.s);
  return {.residual = residual, .gradient = gradient};
}

template <Scalar D, Scalar R>
void Lsqr<D, R>::visit_own_state(StateVisitor& visitor) {
  visitor.visit("x", this->own_x());
  visitor.visit("u", state_->u);
  visitor.visit("v", state_->v);
  visitor.visit("w", state_->w);
  if (state_->tail) visitor.visit("tail", *state_->tail);
  if (state_->variance) visitor.visit("variance", *state_->variance);
  visitor.visit("scalars", state_->scalars.memory(), state_->scalars.count());
}

template <Scalar D, Scalar R>
LsqrSolution<D> lsqr(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                     const SolverOptions& options, const LsqrOptions<D>& lsqr_options) {
  Lsqr<D, R> solver(a, y, options, lsqr_options);
  solver.run();
  const LsqrEstimates estimates = solver.estimates();
  std::optional<DistributedArray<Real<D>>> variance;
  if (lsqr_options.variance) variance = solver.variance();
  return {std::move(solver).solution(), estimates, std::move(variance)};
}

#define INSTANTIATE(D, R)                                                              \
  template class Lsqr<D, R>;                                                           \
  template LsqrSolution<D> lsqr(const LinearOperator<D, R>&, const ConstArrayView<R>&, \
                                const SolverOptions&, const LsqrOptions<D>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
