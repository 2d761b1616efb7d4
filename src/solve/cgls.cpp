#include <weft/solve/cgls.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>

#include "solve/problem.hpp"
#include "solve/vector_steps.hpp"

#include <array>
#include <cmath>

namespace weft {

template <Scalar D, Scalar R>
struct Cgls<D, R>::State {
  // The numbers of an iteration: squares of what State calls q, p, r and s, and the product of s
  // and z. Those of the last one are still needed when new ones are made, so that there are two
  // banks, used in turn. Sums that are finished together lie side by side.
  enum Slot : int { qq, pp, rr, ss, sz, bank_size };
  static constexpr int slot_count = 2 * bank_size;
  static constexpr int in_bank(int bank, Slot slot) { return bank * bank_size + slot; }

  State(const LinearOperator<D, R>& the_operator, const ConstArrayView<R>& data,
        const CglsOptions<D>& options)
      : a(the_operator),
        m(options.preconditioner),
        damp(options.damp),
        y(data),
        r(y.layout(), uninitialized),
        q(y.layout(), uninitialized),
        p(a.domain(), uninitialized),
        s(a.domain(), uninitialized),
        domain(a.domain()),
        range(a.range()),
        scalars(a.domain().device(), slot_count, {&domain, &range}) {
    if (m) z.emplace(a.domain(), uninitialized);
  }

  bool is_damped() const { return damp != 0; }
  /// What p is made of: the gradient, preconditioned if it is.
  const DistributedArray<D>& direction() const { return z ? *z : s; }
  const double* gamma(int bank) const { return scalars[in_bank(bank, z ? sz : ss)]; }

  detail::SumInto of_domain(int bank, Slot slot) { return {scalars, domain, in_bank(bank, slot)}; }
  detail::SumInto of_range(int bank, Slot slot) { return {scalars, range, in_bank(bank, slot)}; }

  /// Applies the preconditioner to s, and finishes what is known of r and s.
  void finish_gradient(int bank) {
    if (m) {
      m->forward(s, *z);
      detail::sum_product(of_domain(bank, sz), s, *z);
    }
    scalars.finish(range, in_bank(bank, rr), 1, domain, m ? 2 : 1);
  }

  LinearOperator<D, R> a;
  std::optional<LinearOperator<D>> m;
  double damp;
  ConstArrayView<R> y;
  DistributedArray<R> r;                 // y - A x
  DistributedArray<R> q;                 // A p
  DistributedArray<D> p;                 // the direction of the next step
  DistributedArray<D> s;                 // Aᴴ r - damp² x
  std::optional<DistributedArray<D>> z;  // M s
  detail::SumSpace domain;
  detail::SumSpace range;
  detail::Scalars scalars;
  double threshold = 0;
};

template <Scalar D, Scalar R>
Cgls<D, R>::Cgls(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options, const CglsOptions<D>& cgls_options)
    : Solver<D>("cgls", a.domain(), a.range(), cgls_options.x0, options,
                a.capturable() &&
                    (!cgls_options.preconditioner || cgls_options.preconditioner->capturable())) {
  const double damp = cgls_options.damp;
  require(std::isfinite(damp) && damp >= 0, "cgls: damp = {}; use 0 for none, or a positive number",
          damp);
  detail::check_problem("cgls", a, y);
  detail::check_preconditioner("cgls", cgls_options.preconditioner, a.domain());
  state_ = std::make_unique<State>(a, y, cgls_options);

  State& state = *state_;
  copy(state.y, state.r);
  a.adjoint(state.y, state.s);
  double reference = norm(state.s);
  if (cgls_options.x0) {
    a.forward(this->x(), state.r, {-1, 1});
    a.adjoint(state.r, state.s);
    axpy(static_cast<Real<D>>(-damp * damp), this->x(), state.s);
  }
  if (reference == 0) reference = norm(state.s);
  state.threshold = this->threshold(reference);

  detail::sum_product(state.of_range(0, State::rr), state.r, state.r);
  detail::sum_product(state.of_domain(0, State::ss), state.s, state.s);
  state.finish_gradient(0);
  copy(state.direction(), state.p);
  detail::sum_product(state.of_domain(0, State::pp), state.p, state.p);
  this->depends_on("damp", damp);
  this->depends_on("y", state.y);
  this->begin();
}

template <Scalar D, Scalar R>
Cgls<D, R>::~Cgls() = default;

template <Scalar D, Scalar R>
void Cgls<D, R>::iterate(int parity) {
  State& state = *state_;
  const int next = 1 - parity;
  const int curvature = State::in_bank(parity, State::qq);
  const double weight = state.damp * state.damp;

  state.a.forward(state.p, state.q);
  detail::sum_product(state.of_range(parity, State::qq), state.q, state.q);
  detail::Quotient alpha{state.gamma(parity), state.scalars[curvature]};
  if (state.is_damped()) {
    alpha.extra = state.scalars[State::in_bank(parity, State::pp)];
    alpha.weight = weight;
    state.scalars.finish(state.range, curvature, 1, state.domain, 1);
  } else {
    state.scalars.finish(state.range, curvature, 1);
  }

  detail::step_residual(state.of_range(next, State::rr), alpha, state.q, state.r);
  state.a.adjoint(state.r, state.s);
  if (state.is_damped()) {
    detail::damp_gradient(state.of_domain(next, State::ss), weight, alpha, this->x(), state.p,
                          state.s);
  } else {
    detail::sum_product(state.of_domain(next, State::ss), state.s, state.s);
  }
  state.finish_gradient(next);

  const detail::Quotient beta{state.gamma(next), state.gamma(parity)};
  if (state.is_damped()) {
    detail::step_solution_and_sum(state.of_domain(next, State::pp), alpha, beta, state.direction(),
                                  this->own_x(), state.p);
  } else {
    detail::step_solution(alpha, beta, state.direction(), this->own_x(), state.p);
  }
}

template <Scalar D, Scalar R>
typename Cgls<D, R>::Check Cgls<D, R>::evaluate() {
  const State& state = *state_;
  std::array<double, State::slot_count> seen{};
  state.scalars.read(seen);
  const int bank = static_cast<int>(this->iteration() % 2);
  const auto now = [&](typename State::Slot slot) {
    return seen[static_cast<std::size_t>(State::in_bank(bank, slot))];
  };
  const auto before = [&](typename State::Slot slot) {
    return seen[static_cast<std::size_t>(State::in_bank(1 - bank, slot))];
  };
  const double curvature =
      before(State::qq) + (state.is_damped() ? state.damp * state.damp * before(State::pp) : 0);

  Check check;
  check.residual_norm = std::sqrt(now(State::rr));
  check.gradient_norm = std::sqrt(now(State::ss));
  check.converged = check.gradient_norm <= state.threshold;
  this->expect_finite(check, "|y - A x|", check.residual_norm);
  this->expect_finite(check, "the gradient norm |Aᴴ(y - A x) - damp² x|", check.gradient_norm);
  if (state.m) {
    this->expect_positive(check, "Re<g, M g>, g the gradient,", now(State::sz),
                          "the preconditioner M is not positive definite");
  }
  if (this->iteration() > 0) {
    this->expect_positive(check, "|A p|² + damp² |p|², p the direction,", curvature,
                          "the operator's adjoint is not its adjoint; see with dot_test()");
  }
  return check;
}

template <Scalar D, Scalar R>
typename Cgls<D, R>::Norms Cgls<D, R>::true_norms() {
  // Each iteration writes q and s before it reads them.
  State& state = *state_;
  const auto [residual, gradient] =
      detail::least_squares_norms(state.a, state.y, state.damp, this->x(), state.q, state.s);
  return {.residual = residual, .gradient = gradient};
}

template <Scalar D, Scalar R>
void Cgls<D, R>::visit_own_state(StateVisitor& visitor) {
  visitor.visit("x", this->own_x());
  visitor.visit("r", state_->r);
  visitor.visit("p", state_->p);
  visitor.visit("scalars", state_->scalars.memory(), state_->scalars.count());
}

template <Scalar D, Scalar R>
void Cgls<D, R>::restore_partial_sums() {
  // |p|² is finished together with |A p|², in the next iteration.
  const int bank = static_cast<int>(this->iteration() % 2);
  detail::sum_product(state_->of_domain(bank, State::pp), state_->p, state_->p);
}

template <Scalar D, Scalar R>
Solution<D> cgls(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options, const CglsOptions<D>& cgls_options) {
  Cgls<D, R> solver(a, y, options, cgls_options);
  solver.run();
  return std::move(solver).solution();
}

#define INSTANTIATE(D, R)                                                          \
  template class Cgls<D, R>;                                                       \
  template Solution<D> cgls(const LinearOperator<D, R>&, const ConstArrayView<R>&, \
                            const SolverOptions&, const CglsOptions<D>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
