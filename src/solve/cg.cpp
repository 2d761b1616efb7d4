#include <weft/solve/cg.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/kernel/dispatch.hpp>

#include "solve/problem.hpp"
#include "solve/vector_steps.hpp"

#include <array>
#include <cmath>

namespace weft {
namespace {

template <Scalar T>
const LinearOperator<T>& require_square(const LinearOperator<T>& a) {
  if (!(a.domain() == a.range())) {
    refuse(
        "cg: {}; it must map a space to itself. Use cgls() for least squares, or "
        "A.normal() and the adjoint applied to y",
        detail::difference("the operator takes", a.domain(), "gives", a.range()));
  }
  return a;
}

}  // namespace

template <Scalar T>
struct Cg<T>::State {
  // The numbers of an iteration: products of what State calls p and q, r and r, r and u, w and u.
  // Those of the last one are still needed when new ones are made, so that there are two banks,
  // used in turn. Sums that are finished together lie side by side.
  enum Slot : int { pq, rr, ru, wu, bank_size };
  static constexpr int slot_count = 2 * bank_size;
  static constexpr int in_bank(int bank, Slot slot) { return bank * bank_size + slot; }

  State(const LinearOperator<T>& the_operator, const ConstArrayView<T>& data,
        const CgOptions<T>& options)
      : a(the_operator),
        m(options.preconditioner),
        y(data),
        r(y.layout(), uninitialized),
        q(y.layout()),
        p(y.layout()),
        space(y.layout()),
        scalars(y.device(), slot_count, {&space}) {
    if (m) z.emplace(y.layout(), uninitialized);
    if (options.single_reduction) w.emplace(y.layout(), uninitialized);
  }

  bool has_one_sum() const { return w.has_value(); }
  const DistributedArray<T>& u() const { return z ? *z : r; }
  const double* gamma(int bank) const { return scalars[in_bank(bank, z || w ? ru : rr)]; }

  detail::SumInto into(int bank, Slot slot) { return {scalars, space, in_bank(bank, slot)}; }

  LinearOperator<T> a;
  std::optional<LinearOperator<T>> m;
  ConstArrayView<T> y;
  DistributedArray<T> r;                 // y - A x
  DistributedArray<T> q;                 // A p
  DistributedArray<T> p;                 // the direction of the step
  std::optional<DistributedArray<T>> z;  // u = M r, which else is r itself
  std::optional<DistributedArray<T>> w;  // A u, from which q is made with a single reduction
  detail::SumSpace space;
  detail::Scalars scalars;
  double threshold = 0;
};

template <Scalar T>
Cg<T>::Cg(const LinearOperator<T>& a, const ConstArrayView<T>& y, const SolverOptions& options,
          const CgOptions<T>& cg_options)
    : Solver<T>("cg", require_square(a).domain(), a.range(), cg_options.x0, options,
                a.capturable() &&
                    (!cg_options.preconditioner || cg_options.preconditioner->capturable())) {
  detail::check_problem("cg", a, y);
  detail::check_preconditioner("cg", cg_options.preconditioner, a.domain());
  state_ = std::make_unique<State>(a, y, cg_options);

  State& state = *state_;
  copy(state.y, state.r);
  double reference = norm(state.y);
  if (cg_options.x0) {
    a.forward(this->x(), state.r, {-1, 1});
    if (reference == 0) reference = norm(state.r);
  }
  state.threshold = this->threshold(reference);
  detail::sum_product(state.into(0, State::rr), state.r, state.r);
  look_ahead(0);
  if (!state.has_one_sum()) copy(state.u(), state.p);
  this->depends_on("y", state.y);
  this->begin();
}

template <Scalar T>
Cg<T>::~Cg() = default;

template <Scalar T>
void Cg<T>::look_ahead(int bank) {
  State& state = *state_;
  if (state.m) state.m->forward(state.r, *state.z);
  int sums = 1;
  if (state.has_one_sum()) {
    state.a.forward(state.u(), *state.w);
    detail::sum_products(state.into(bank, State::ru), state.r, *state.w, state.u());
    sums = 3;
  } else if (state.m) {
    detail::sum_product(state.into(bank, State::ru), state.r, state.u());
    sums = 2;
  }
  state.scalars.finish(state.space, State::in_bank(bank, State::rr), sums);
}

template <Scalar T>
void Cg<T>::iterate(int parity) {
  if (state_->has_one_sum()) {
    iterate_with_one_sum(parity);
  } else {
    iterate_with_two_sums(parity);
  }
}

template <Scalar T>
void Cg<T>::iterate_with_two_sums(int parity) {
  State& state = *state_;
  const int next = 1 - parity;
  const int curvature = State::in_bank(parity, State::pq);

  state.a.forward(state.p, state.q);
  detail::sum_product(state.into(parity, State::pq), state.p, state.q);
  state.scalars.finish(state.space, curvature, 1);

  const detail::Quotient alpha{state.gamma(parity), state.scalars[curvature]};
  detail::step_residual(state.into(next, State::rr), alpha, state.q, state.r);
  look_ahead(next);

  const detail::Quotient beta{state.gamma(next), state.gamma(parity)};
  detail::step_solution(alpha, beta, state.u(), this->own_x(), state.p);
}

// After Chronopoulos and Gear: A p and Re<p, A p> follow from A u and Re<u, A u>, which can be
// summed up together with what else there is to sum up.
template <Scalar T>
void Cg<T>::iterate_with_one_sum(int parity) {
  State& state = *state_;
  const int next = 1 - parity;
  const int curvature = State::in_bank(parity, State::pq);
  const double* wu_now = state.scalars[State::in_bank(parity, State::wu)];
  const double* last_curvature = state.scalars[State::in_bank(next, State::pq)];

  const detail::Quotient beta{state.gamma(parity), state.gamma(next)};
  dispatch(state.p.device(), [&](auto device) {
    kernels::next_curvature(device, beta, wu_now, last_curvature, state.scalars.at(curvature));
  });
  const detail::Quotient alpha{state.gamma(parity), state.scalars[curvature]};
  detail::step_all(state.into(next, State::rr), alpha, beta, state.u(), *state.w, state.p, state.q,
                   this->own_x(), state.r);
  look_ahead(next);
}

template <Scalar T>
typename Cg<T>::Check Cg<T>::evaluate() {
  const State& state = *state_;
  std::array<double, State::slot_count> seen{};
  state.scalars.read(seen);
  const int bank = static_cast<int>(this->iteration() % 2);
  const auto now = [&](typename State::Slot slot) {
    return seen[static_cast<std::size_t>(State::in_bank(bank, slot))];
  };
  const double curvature = seen[static_cast<std::size_t>(State::in_bank(1 - bank, State::pq))];

  Check check;
  check.residual_norm = std::sqrt(now(State::rr));
  check.gradient_norm = check.residual_norm;
  check.converged = check.residual_norm <= state.threshold;
  this->expect_finite(check, "|y - A x|", check.residual_norm);
  if (state.m) {
    this->expect_positive(check, "rᴴM r, r the residual,", now(State::ru),
                          "the preconditioner M is not positive definite");
  }
  if (this->iteration() > 0) {
    this->expect_positive(check, "pᴴA p, p the direction,", curvature,
                          "the operator A is not positive definite; use cgls()");
  }
  return check;
}

template <Scalar T>
typename Cg<T>::Norms Cg<T>::true_norms() {
  // Each iteration writes q before it reads it; or else w can be made again.
  State& state = *state_;
  DistributedArray<T>& residual = state.has_one_sum() ? *state.w : state.q;
  copy(state.y, residual);
  state.a.forward(this->x(), residual, {-1, 1});
  const double size = norm(residual);
  if (state.has_one_sum()) state.a.forward(state.u(), *state.w);
  return {.residual = size, .gradient = size};
}

template <Scalar T>
void Cg<T>::visit_own_state(StateVisitor& visitor) {
  visitor.visit("x", this->own_x());
  visitor.visit("r", state_->r);
  visitor.visit("p", state_->p);
  if (state_->has_one_sum()) {
    visitor.visit("q", state_->q);
    visitor.visit("w", *state_->w);
    if (state_->z) visitor.visit("z", *state_->z);
  }
  visitor.visit("scalars", state_->scalars.memory(), state_->scalars.count());
}

template <Scalar T>
Solution<T> cg(const LinearOperator<T>& a, const ConstArrayView<T>& y, const SolverOptions& options,
               const CgOptions<T>& cg_options) {
  Cg<T> solver(a, y, options, cg_options);
  solver.run();
  return std::move(solver).solution();
}

#define INSTANTIATE(T)                                                        \
  template class Cg<T>;                                                       \
  template Solution<T> cg(const LinearOperator<T>&, const ConstArrayView<T>&, \
                          const SolverOptions&, const CgOptions<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
