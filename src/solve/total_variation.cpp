#include <weft/solve/total_variation.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/kernel/complex.hpp>

#include "core/option_checks.hpp"
#include "solve/problem.hpp"
#include "solve/total_variation_kernels.hpp"
#include "solve/vector_steps.hpp"

#include <array>
#include <cmath>

namespace weft {
namespace {

constexpr const char* where = "total_variation";

template <Scalar D>
void check_options(const TotalVariationOptions<D>& options) {
  require(std::isfinite(options.mu) && options.mu >= 0,
          "{}: mu = {}; use a positive number, or 0 for least squares", where, options.mu);
  require(std::isfinite(options.rho) && options.rho > 0, "{}: rho = {}; use a positive number",
          where, options.rho);
  detail::require_enumerator(options.norm, TotalVariationNorm::anisotropic, where,
                             "TotalVariationNorm");
  require(options.inner_iterations >= 1, "{}: inner_iterations = {}; allow at least one", where,
          options.inner_iterations);
}

template <Scalar D>
LinearOperator<D> gradient_of_model(const Layout& domain, const GradientOptions& options) {
  require(!domain.is_stack(), "{}: the operator takes {}; a model must be one array, not a stack",
          where, to_string(domain));
  return gradient<D>(domain, options);
}

}  // namespace

// The least-squares problem for x is solved with A and sqrt(rho) G stacked, but by hand: A may give
// other scalars than G, and what is left over at the end of one iteration is where the next begins.
template <Scalar D, Scalar R>
struct TotalVariation<D, R>::State {
  // Squares: of the change of x and of x, of the dual residual and the gradient, of the primal
  // residual, all finished together; and those of q and w. The gradient of the last step is still
  // needed when a new one is made, so that there are two banks, used in turn.
  enum Slot : int { change, size, dual, ss, primal, bank_size };
  enum Common : int { qq = 2 * bank_size, ww, unused, slot_count };
  static constexpr int in_bank(int bank, Slot slot) { return bank * bank_size + slot; }

  State(const LinearOperator<D, R>& the_operator, const LinearOperator<D>& the_gradient,
        const ConstArrayView<R>& data, const TotalVariationOptions<D>& options)
      : a(the_operator),
        g(the_gradient),
        mu(options.mu),
        rho(options.rho),
        inner_iterations(options.inner_iterations),
        components(options.norm == TotalVariationNorm::isotropic ? a.domain().ndim() : 1),
        y(data),
        r(y.layout(), uninitialized),
        q(y.layout(), uninitialized),
        t(g.range(), uninitialized),
        w(g.range(), uninitialized),
        u(g.range()),
        p(a.domain(), uninitialized),
        s(a.domain(), uninitialized),
        old(a.domain()),
        domain(a.domain()),
        range(a.range()),
        gradients(g.range()),
        scalars(a.domain().device(), slot_count, {&domain, &range, &gradients}) {}

  Real<D> coupling() const { return static_cast<Real<D>>(rho); }

  /// The bank that an iteration begins with: steps, wherever they are, use them in turn.
  int first_bank(index_t iteration) const {
    return static_cast<int>((iteration % 2) * (inner_iterations % 2));
  }

  detail::SumInto of_domain(int slot) { return {scalars, domain, slot}; }
  detail::SumInto of_range(int slot) { return {scalars, range, slot}; }
  detail::SumInto of_gradients(int slot) { return {scalars, gradients, slot}; }

  LinearOperator<D, R> a;
  LinearOperator<D> g;
  double mu;
  double rho;
  index_t inner_iterations;
  int components;  // of the vectors that are made shorter
  ConstArrayView<R> y;
  DistributedArray<R> r;    // y - A x
  DistributedArray<R> q;    // A p
  DistributedArray<D> t;    // z - u - G x
  DistributedArray<D> w;    // G p, or G x
  DistributedArray<D> u;    // the multiplier by rho
  DistributedArray<D> p;    // the direction of the next step
  DistributedArray<D> s;    // Aᴴr + rho Gᴴt
  DistributedArray<D> old;  // x before this iteration
  detail::SumSpace domain;
  detail::SumSpace range;
  detail::SumSpace gradients;
  detail::Scalars scalars;
};

template <Scalar D, Scalar R>
TotalVariation<D, R>::TotalVariation(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                                     const SolverOptions& options,
                                     const TotalVariationOptions<D>& total_variation_options)
    : Solver<D>(where, a.domain(), a.range(), total_variation_options.x0, options, a.capturable()) {
  check_options(total_variation_options);
  detail::check_problem(where, a, y);
  const auto g = gradient_of_model<D>(a.domain(), total_variation_options.gradient);
  state_ = std::make_unique<State>(a, g, y, total_variation_options);

  State& state = *state_;
  copy(state.y, state.r);
  if (total_variation_options.x0) a.forward(this->x(), state.r, {-1, 1});
  copy(this->x(), state.old);
  // With u = 0 and z = G x, an x0 that solves A x0 = y would not move, as if it were the solution.
  update_multiplier(0);
  if (options.checkpoint) tell_problem();
  this->begin();
}

template <Scalar D, Scalar R>
void TotalVariation<D, R>::tell_problem() {
  State& state = *state_;
  this->depends_on("mu", state.mu);
  this->depends_on("rho", state.rho);
  this->depends_on("inner_iterations", static_cast<double>(state.inner_iterations));
  this->depends_on("the number of components of gradients", state.components);
  this->depends_on("y", state.y);
  // An x of zero tells nothing of the gradient. Each iteration writes w before it reads it.
  state.g.forward(state.p, state.w);
  this->depends_on("G p", state.w, AnySolver::Origin::computed);
}

template <Scalar D, Scalar R>
TotalVariation<D, R>::~TotalVariation() = default;

template <Scalar D, Scalar R>
void TotalVariation<D, R>::iterate(int parity) {
  State& state = *state_;
  copy(this->x(), state.old);
  int bank = state.first_bank(parity);
  for (index_t left = state.inner_iterations; left > 0; --left) {
    step_x(bank, left == 1);
    bank = 1 - bank;
  }
  update_multiplier(bank);
}

template <Scalar D, Scalar R>
void TotalVariation<D, R>::step_x(int bank, bool is_last) {
  State& state = *state_;
  state.a.forward(state.p, state.q);
  state.g.forward(state.p, state.w);
  detail::sum_product(state.of_range(State::qq), state.q, state.q);
  detail::sum_product(state.of_gradients(State::ww), state.w, state.w);
  state.scalars.finish(state.range, State::qq, 1, state.gradients, 1);

  const double* gamma = state.scalars[State::in_bank(bank, State::ss)];
  const detail::Quotient alpha{gamma, state.scalars[State::qq], state.scalars[State::ww],
                               state.rho};
  detail::step_residual(state.of_range(State::unused), alpha, state.q, state.r);
  if (is_last) {
    // t and p are made anew.
    const detail::Quotient any{gamma, gamma};
    detail::step_solution(alpha, any, state.s, this->own_x(), state.p);
    return;
  }
  detail::step_residual(state.of_gradients(State::unused), alpha, state.w, state.t);
  state.a.adjoint(state.r, state.s);
  state.g.adjoint(state.t, state.s, {state.coupling(), 1});

  const int next = State::in_bank(1 - bank, State::ss);
  detail::sum_product(state.of_domain(next), state.s, state.s);
  state.scalars.finish(state.domain, next, 1);
  const detail::Quotient beta{state.scalars[next], gamma};
  detail::step_solution(alpha, beta, state.s, this->own_x(), state.p);
}

template <Scalar D, Scalar R>
void TotalVariation<D, R>::update_multiplier(int bank) {
  State& state = *state_;
  state.of_domain(State::in_bank(bank, State::change))(
      [&](auto device, index_t first, index_t n, double* out) {
        kernels::change(device, detail::reals_in<D> * n, detail::reals(this->x(), first),
                        detail::reals(state.old, first), out);
      });

  state.g.forward(this->x(), state.w);
  const auto threshold = static_cast<Real<D>>(state.mu / state.rho);
  state.of_gradients(State::in_bank(bank, State::primal))(
      [&](auto device, index_t first, index_t n, double* out) {
        kernels::shrink(device, n / state.components, state.components, threshold,
                        kernel_cast(state.w.data() + first), kernel_cast(state.u.data() + first),
                        kernel_cast(state.t.data() + first), out);
      });

  // t is z - G x so far: the dual residual is Aᴴr - rho Gᴴu, and the gradient has both.
  state.a.adjoint(state.r, state.s);
  state.g.adjoint(state.u, state.s, {-state.coupling(), 1});
  detail::sum_product(state.of_domain(State::in_bank(bank, State::dual)), state.s, state.s);
  state.g.adjoint(state.t, state.s, {state.coupling(), 1});
  detail::sum_product(state.of_domain(State::in_bank(bank, State::ss)), state.s, state.s);
  axpy(-1, state.u, state.t);
  copy(state.s, state.p);
  state.scalars.finish(state.domain, State::in_bank(bank, State::change), 4, state.gradients, 1);
}

template <Scalar D, Scalar R>
typename TotalVariation<D, R>::Check TotalVariation<D, R>::evaluate() {
  const State& state = *state_;
  std::array<double, State::slot_count> seen{};
  state.scalars.read(seen);
  const auto squares = [&](int slot) { return seen[static_cast<std::size_t>(slot)]; };
  const int bank = state.first_bank(this->iteration());
  const auto now = [&](typename State::Slot slot) { return squares(State::in_bank(bank, slot)); };

  Check check;
  check.residual_norm = std::sqrt(now(State::primal));
  check.gradient_norm = std::sqrt(now(State::dual));
  this->expect_finite(check, "the primal residual |G x - z|", check.residual_norm);
  this->expect_finite(check, "the dual residual |Aᴴ(y - A x) - rho Gᴴu|", check.gradient_norm);
  if (this->iteration() == 0) return check;

  // x is not moved along a direction that is nothing, which is trouble unless so is the gradient.
  constexpr double nothing = 1e-200;
  const double gradient = squares(State::in_bank(1 - bank, State::ss));
  const double curvature = squares(State::qq) + state.rho * squares(State::ww);
  constexpr const char* what = "|A p|² + rho |G p|², p the direction,";
  this->expect_finite(check, what, curvature);
  if (gradient > nothing) {
    this->expect_positive(check, what, curvature,
                          "the operator's adjoint is not its adjoint; see with dot_test()");
  }
  check.converged = std::sqrt(now(State::change)) <= this->threshold(std::sqrt(now(State::size)));
  return check;
}

template <Scalar D, Scalar R>
typename TotalVariation<D, R>::Norms TotalVariation<D, R>::true_norms() {
  // Each iteration writes q and w before it reads them, and reads s to no effect.
  State& state = *state_;
  copy(state.y, state.q);
  state.a.forward(this->x(), state.q, {-1, 1});
  state.a.adjoint(state.q, state.s);
  state.g.adjoint(state.u, state.s, {-state.coupling(), 1});
  copy(state.t, state.w);
  axpy(1, state.u, state.w);
  return {.residual = norm(state.w), .gradient = norm(state.s)};
}

template <Scalar D, Scalar R>
void TotalVariation<D, R>::visit_own_state(StateVisitor& visitor) {
  visitor.visit("x", this->own_x());
  visitor.visit("r", state_->r);
  visitor.visit("t", state_->t);
  visitor.visit("u", state_->u);
  visitor.visit("p", state_->p);
  visitor.visit("scalars", state_->scalars.memory(), state_->scalars.count());
}

template <Scalar D, Scalar R>
Solution<D> total_variation(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                            const SolverOptions& options,
                            const TotalVariationOptions<D>& total_variation_options) {
  TotalVariation<D, R> solver(a, y, options, total_variation_options);
  solver.run();
  return std::move(solver).solution();
}

#define INSTANTIATE(D, R)                                                                     \
  template class TotalVariation<D, R>;                                                        \
  template Solution<D> total_variation(const LinearOperator<D, R>&, const ConstArrayView<R>&, \
                                       const SolverOptions&, const TotalVariationOptions<D>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
