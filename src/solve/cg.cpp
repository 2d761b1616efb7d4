#include <weft/solve/cg.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/solve/recurrence.hpp>

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
        detail::difference("the operator takes", a.domain(), "returns", a.range()));
  }
  return a;
}

// Preconditioned conjugate gradients. With r = y - A x, u = M r, p = u and gamma = <r, u> at the
// start, an iteration is
//
//   q       = A p
//   alpha   = gamma / <p, q>
//   x      += alpha p
//   r      -= alpha q
//   u       = M r
//   gamma'  = <r, u>
//   beta    = gamma' / gamma
//   p       = u + beta p
//
// with two reductions: one for <p, q>, one for |r|² and <r, u>. Without a preconditioner, u is r
// and gamma is |r|².
//
// The form with a single reduction (Chronopoulos and Gear, 1989) applies A to u instead of p. Since
// the new p is conjugate to the last one, q and <p, q> follow from w = A u:
//
//   <p, q>' = <w, u> - beta² <p, q>
//   p       = u + beta p
//   q       = w + beta q
//   alpha   = gamma / <p, q>'
//   x      += alpha p
//   r      -= alpha q
//   u       = M r
//   w       = A u
//
// and |r|², <r, u> and <w, u> are reduced together.
template <Scalar T>
struct CgRecurrence final : Recurrence<T> {
  // Slots of a bank, named after the factors of inner products; see solve/scalars.hpp.
  enum Slot : int { pq, rr, ru, wu, bank_size };
  static constexpr int slot_count = 2 * bank_size;
  static constexpr int in_bank(int bank, Slot slot) { return bank * bank_size + slot; }

  CgRecurrence(Solver<T>& solver, const LinearOperator<T>& the_operator,
               const ConstArrayView<T>& data, const CgOptions<T>& options);

  void iterate(int parity) override;
  SolverCheck evaluate() override;
  SolverNorms true_norms() override;
  void visit_state(StateVisitor& visitor) override;

  void iterate_with_two_reductions(int parity);
  void iterate_with_one_reduction(int parity);
  void finish_residual(int bank);

  bool has_single_reduction() const { return w.has_value(); }
  const DistributedArray<T>& u() const { return z ? *z : r; }
  const double* gamma(int bank) const { return scalars[in_bank(bank, z || w ? ru : rr)]; }

  detail::SumInto into(int bank, Slot slot) { return {scalars, space, in_bank(bank, slot)}; }

  using Recurrence<T>::x;
  LinearOperator<T> a;
  std::optional<LinearOperator<T>> m;
  ConstArrayView<T> y;
  DistributedArray<T> r;                 // y - A x
  DistributedArray<T> q;                 // A p
  DistributedArray<T> p;                 // the search direction
  std::optional<DistributedArray<T>> z;  // u = M r; without M, u is r
  std::optional<DistributedArray<T>> w;  // A u, only with a single reduction
  detail::SumSpace space;
  detail::Scalars scalars;
  double threshold = 0;
};

template <Scalar T>
CgRecurrence<T>::CgRecurrence(Solver<T>& solver, const LinearOperator<T>& the_operator,
                              const ConstArrayView<T>& data, const CgOptions<T>& options)
    : Recurrence<T>(solver),
      a(the_operator),
      m(options.preconditioner),
      y(data),
      r(y.layout(), uninitialized),
      q(y.layout()),
      p(y.layout()),
      space(y.layout()),
      scalars(y.device(), slot_count, {&space}) {
  if (m) z.emplace(y.layout(), uninitialized);
  if (options.single_reduction) w.emplace(y.layout(), uninitialized);

  // r = y - A x
  copy(y, r);
  double reference = norm(y);
  if (options.x0) {
    a.forward(x, r, {-1, 1});
    if (reference == 0) reference = norm(r);
  }
  threshold = AnyRecurrence::threshold(reference);

  // |r|², u = M r, <r, u>; p = u
  detail::sum_product(into(0, rr), r, r);
  finish_residual(0);
  if (!has_single_reduction()) copy(u(), p);
  this->depends_on("y", y);
}

/// u = M r, <r, u>, and with a single reduction also w = A u, <w, u>. Reduces them with |r|².
template <Scalar T>
void CgRecurrence<T>::finish_residual(int bank) {
  // u = M r
  if (m) m->forward(r, *z);
  int sums = 1;
  if (has_single_reduction()) {
    // w = A u
    a.forward(u(), *w);
    // <r, u>, <w, u>
    detail::sum_products(into(bank, ru), r, *w, u());
    sums = 3;
  } else if (m) {
    // <r, u>
    detail::sum_product(into(bank, ru), r, u());
    sums = 2;
  }
  scalars.finish(space, in_bank(bank, rr), sums);
}

template <Scalar T>
void CgRecurrence<T>::iterate(int parity) {
  if (has_single_reduction()) {
    iterate_with_one_reduction(parity);
  } else {
    iterate_with_two_reductions(parity);
  }
}

template <Scalar T>
void CgRecurrence<T>::iterate_with_two_reductions(int parity) {
  const int next = 1 - parity;
  const int curvature = in_bank(parity, pq);

  // q = A p
  a.forward(p, q);
  // <p, q>
  detail::sum_product(into(parity, pq), p, q);
  scalars.finish(space, curvature, 1);

  // alpha = gamma / <p, q>
  const detail::Quotient alpha{gamma(parity), scalars[curvature]};
  // r -= alpha q, |r|²
  detail::step_residual(into(next, rr), alpha, q, r);
  // u = M r, gamma' = <r, u>
  finish_residual(next);

  // beta = gamma' / gamma
  const detail::Quotient beta{gamma(next), gamma(parity)};
  // x += alpha p, p = u + beta p
  detail::step_solution(alpha, beta, u(), x, p);
}

template <Scalar T>
void CgRecurrence<T>::iterate_with_one_reduction(int parity) {
  const int next = 1 - parity;
  const int curvature = in_bank(parity, pq);
  const double* wu_now = scalars[in_bank(parity, wu)];
  const double* last_curvature = scalars[in_bank(next, pq)];

  // beta = gamma / gamma of the last iteration
  const detail::Quotient beta{gamma(parity), gamma(next)};
  // <p, q>' = <w, u> - beta² <p, q>
  dispatch(p.device(), [&](auto device) {
    kernels::next_curvature(device, beta, wu_now, last_curvature, scalars.at(curvature));
  });
  // alpha = gamma / <p, q>'
  const detail::Quotient alpha{gamma(parity), scalars[curvature]};
  // p = u + beta p, q = w + beta q, x += alpha p, r -= alpha q, |r|²
  detail::step_all(into(next, rr), alpha, beta, u(), *w, p, q, x, r);
  // u = M r, w = A u, gamma' = <r, u>, <w, u>
  finish_residual(next);
}

template <Scalar T>
SolverCheck CgRecurrence<T>::evaluate() {
  std::array<double, slot_count> values{};
  scalars.read(values);
  const int bank = static_cast<int>(this->iteration() % 2);
  const auto now = [&](Slot slot) { return values[static_cast<std::size_t>(in_bank(bank, slot))]; };
  const double curvature = values[static_cast<std::size_t>(in_bank(1 - bank, pq))];

  SolverCheck check;
  check.residual_norm = std::sqrt(now(rr));
  check.gradient_norm = check.residual_norm;
  check.converged = check.residual_norm <= threshold;
  this->expect_finite(check, "|y - A x|", check.residual_norm);
  if (m) {
    this->expect_positive(check, "rᴴM r, with the residual r,", now(ru),
                          "the preconditioner M is not positive definite");
  }
  if (this->iteration() > 0) {
    this->expect_positive(check, "pᴴA p, with the search direction p,", curvature,
                          "the operator A is not positive definite; use cgls()");
  }
  return check;
}

template <Scalar T>
SolverNorms CgRecurrence<T>::true_norms() {
  // q is scratch: an iteration writes it before it reads it. With a single reduction it is not, but
  // w can be recomputed.
  DistributedArray<T>& residual = has_single_reduction() ? *w : q;
  // y - A x
  copy(y, residual);
  a.forward(x, residual, {-1, 1});
  const double size = norm(residual);
  // w = A u
  if (has_single_reduction()) a.forward(u(), *w);
  return {.residual = size, .gradient = size};
}

template <Scalar T>
void CgRecurrence<T>::visit_state(StateVisitor& visitor) {
  visitor.visit("x", x);
  visitor.visit("r", r);
  visitor.visit("p", p);
  if (has_single_reduction()) {
    visitor.visit("q", q);
    visitor.visit("w", *w);
    if (z) visitor.visit("z", *z);
  }
  visitor.visit("scalars", scalars.memory(), scalars.count());
}

}  // namespace

template <Scalar T>
Cg<T>::Cg(const LinearOperator<T>& a, const ConstArrayView<T>& y, const SolverOptions& options,
          const CgOptions<T>& cg_options)
    : Solver<T>("cg", require_square(a).domain(), a.range(), cg_options.x0, options,
                a.capturable() &&
                    (!cg_options.preconditioner || cg_options.preconditioner->capturable())) {
  detail::check_problem("cg", a, y);
  detail::check_preconditioner("cg", cg_options.preconditioner, a.domain());
  this->start(std::make_unique<CgRecurrence<T>>(*this, a, y, cg_options));
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
