#include <weft/solve/cgls.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/solve/recurrence.hpp>

#include "solve/problem.hpp"
#include "solve/vector_steps.hpp"

#include <array>
#include <cmath>

namespace weft {
namespace {

// Conjugate gradients on the normal equations (AᴴA + damp²) x = Aᴴy, without forming AᴴA. With
// r = y - A x, s = Aᴴr - damp² x, z = M s, p = z and gamma = <s, z> at the start, an iteration is
//
//   q       = A p
//   alpha   = gamma / (|q|² + damp² |p|²)
//   r      -= alpha q
//   s       = Aᴴr - damp² (x + alpha p)
//   z       = M s
//   gamma'  = <s, z>
//   beta    = gamma' / gamma
//   x      += alpha p
//   p       = z + beta p
//
// with two reductions: one for |q|² and |p|², one for |r|², |s|² and <s, z>. Without a
// preconditioner, z is s and gamma is |s|².
template <Scalar D, Scalar R>
struct CglsRecurrence final : Recurrence<D> {
  // Slots of a bank, named after the factors of inner products; see solve/scalars.hpp.
  enum Slot : int { qq, pp, rr, ss, sz, bank_size };
  static constexpr int slot_count = 2 * bank_size;
  static constexpr int in_bank(int bank, Slot slot) { return bank * bank_size + slot; }

  CglsRecurrence(Solver<D>& solver, const LinearOperator<D, R>& the_operator,
                 const ConstArrayView<R>& data, const CglsOptions<D>& options);

  void iterate(int parity) override;
  SolverCheck evaluate() override;
  SolverNorms true_norms() override;
  void visit_state(StateVisitor& visitor) override;
  void restore_partial_sums() override;

  void finish_gradient(int bank);

  bool is_damped() const { return damp != 0; }
  /// z = M s; without M, s itself.
  const DistributedArray<D>& preconditioned() const { return z ? *z : s; }
  const double* gamma(int bank) const { return scalars[in_bank(bank, z ? sz : ss)]; }

  detail::SumInto of_domain(int bank, Slot slot) { return {scalars, domain, in_bank(bank, slot)}; }
  detail::SumInto of_range(int bank, Slot slot) { return {scalars, range, in_bank(bank, slot)}; }

  using Recurrence<D>::x;
  LinearOperator<D, R> a;
  std::optional<LinearOperator<D>> m;
  double damp;
  ConstArrayView<R> y;
  DistributedArray<R> r;                 // y - A x
  DistributedArray<R> q;                 // A p
  DistributedArray<D> p;                 // the search direction
  DistributedArray<D> s;                 // Aᴴ r - damp² x, the negative gradient
  std::optional<DistributedArray<D>> z;  // M s
  detail::SumSpace domain;
  detail::SumSpace range;
  detail::Scalars scalars;
  double threshold = 0;
};

template <Scalar D, Scalar R>
CglsRecurrence<D, R>::CglsRecurrence(Solver<D>& solver, const LinearOperator<D, R>& the_operator,
                                     const ConstArrayView<R>& data, const CglsOptions<D>& options)
    : Recurrence<D>(solver),
      a(the_operator),
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

  // r = y - A x, s = Aᴴr - damp² x
  copy(y, r);
  a.adjoint(y, s);
  double reference = norm(s);
  if (options.x0) {
    a.forward(x, r, {-1, 1});
    a.adjoint(r, s);
    axpy(static_cast<Real<D>>(-damp * damp), x, s);
  }
  if (reference == 0) reference = norm(s);
  threshold = AnyRecurrence::threshold(reference);

  // |r|², |s|², z = M s, <s, z>
  detail::sum_product(of_range(0, rr), r, r);
  detail::sum_product(of_domain(0, ss), s, s);
  finish_gradient(0);
  // p = z, |p|²
  copy(preconditioned(), p);
  detail::sum_product(of_domain(0, pp), p, p);
  this->depends_on("damp", damp);
  this->depends_on("y", y);
}

/// z = M s, <s, z>. Reduces it with |r|² and |s|².
template <Scalar D, Scalar R>
void CglsRecurrence<D, R>::finish_gradient(int bank) {
  if (m) {
    // z = M s
    m->forward(s, *z);
    // <s, z>
    detail::sum_product(of_domain(bank, sz), s, *z);
  }
  scalars.finish(range, in_bank(bank, rr), 1, domain, m ? 2 : 1);
}

template <Scalar D, Scalar R>
void CglsRecurrence<D, R>::iterate(int parity) {
  const int next = 1 - parity;
  const int curvature = in_bank(parity, qq);
  const double weight = damp * damp;

  // q = A p
  a.forward(p, q);
  // |q|²
  detail::sum_product(of_range(parity, qq), q, q);
  // alpha = gamma / (|q|² + damp² |p|²)
  detail::Quotient alpha{gamma(parity), scalars[curvature]};
  if (is_damped()) {
    alpha.extra = scalars[in_bank(parity, pp)];
    alpha.weight = weight;
    scalars.finish(range, curvature, 1, domain, 1);
  } else {
    scalars.finish(range, curvature, 1);
  }

  // r -= alpha q, |r|²
  detail::step_residual(of_range(next, rr), alpha, q, r);
  // s = Aᴴr
  a.adjoint(r, s);
  if (is_damped()) {
    // s -= damp² (x + alpha p), |s|²
    detail::damp_gradient(of_domain(next, ss), weight, alpha, x, p, s);
  } else {
    // |s|²
    detail::sum_product(of_domain(next, ss), s, s);
  }
  // z = M s, gamma' = <s, z>
  finish_gradient(next);

  // beta = gamma' / gamma
  const detail::Quotient beta{gamma(next), gamma(parity)};
  if (is_damped()) {
    // x += alpha p, p = z + beta p, |p|²
    detail::step_solution_and_sum(of_domain(next, pp), alpha, beta, preconditioned(), x, p);
  } else {
    // x += alpha p, p = z + beta p
    detail::step_solution(alpha, beta, preconditioned(), x, p);
  }
}

template <Scalar D, Scalar R>
SolverCheck CglsRecurrence<D, R>::evaluate() {
  std::array<double, slot_count> values{};
  scalars.read(values);
  const int bank = static_cast<int>(this->iteration() % 2);
  const auto now = [&](Slot slot) { return values[static_cast<std::size_t>(in_bank(bank, slot))]; };
  const auto before = [&](Slot slot) {
    return values[static_cast<std::size_t>(in_bank(1 - bank, slot))];
  };
  const double curvature = before(qq) + (is_damped() ? damp * damp * before(pp) : 0);

  SolverCheck check;
  check.residual_norm = std::sqrt(now(rr));
  check.gradient_norm = std::sqrt(now(ss));
  check.converged = check.gradient_norm <= threshold;
  this->expect_finite(check, "|y - A x|", check.residual_norm);
  this->expect_finite(check, "the gradient norm |Aᴴ(y - A x) - damp² x|", check.gradient_norm);
  if (m) {
    this->expect_positive(check, "Re<g, M g>, with the gradient g,", now(sz),
                          "the preconditioner M is not positive definite");
  }
  if (this->iteration() > 0) {
    this->expect_positive(check, "|A p|² + damp² |p|², with the search direction p,", curvature,
                          "adjoint() does not match forward(); check with dot_test()");
  }
  return check;
}

template <Scalar D, Scalar R>
SolverNorms CglsRecurrence<D, R>::true_norms() {
  // q and s are scratch: an iteration writes them before it reads them.
  const auto [residual, gradient] = detail::least_squares_norms(a, y, damp, x, q, s);
  return {.residual = residual, .gradient = gradient};
}

template <Scalar D, Scalar R>
void CglsRecurrence<D, R>::visit_state(StateVisitor& visitor) {
  visitor.visit("x", x);
  visitor.visit("r", r);
  visitor.visit("p", p);
  visitor.visit("scalars", scalars.memory(), scalars.count());
}

template <Scalar D, Scalar R>
void CglsRecurrence<D, R>::restore_partial_sums() {
  // The next iteration reduces |p|² together with |A p|².
  const int bank = static_cast<int>(this->iteration() % 2);
  detail::sum_product(of_domain(bank, pp), p, p);
}

}  // namespace

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
  this->start(std::make_unique<CglsRecurrence<D, R>>(*this, a, y, cgls_options));
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
