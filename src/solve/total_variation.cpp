#include <weft/solve/total_variation.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/solve/recurrence.hpp>

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

// ADMM for 1/2 |y - A x|² + mu TV(x), with a copy z of the gradient G x and the multiplier rho u.
// An iteration is
//
//   x = argmin 1/2 |y - A x|² + rho/2 |z - u - G x|²
//   z = shrink(G x + u, mu / rho)
//   u = u + G x - z
//
// where the least-squares problem for x is solved approximately by a few steps of conjugate
// gradients on A stacked on sqrt(rho) G. With r = y - A x, t = z - u - G x, s = Aᴴr + rho Gᴴt and
// p = s at the start, a step is
//
//   q      = A p
//   w      = G p
//   alpha  = |s|² / (|q|² + rho |w|²)
//   r     -= alpha q
//   t     -= alpha w
//   s'     = Aᴴr + rho Gᴴt
//   beta   = |s'|² / |s|²
//   x     += alpha p
//   p      = s' + beta p
//
// CGLS is not reused: the range of A may have other scalars than that of G, and r and t are carried
// from one iteration to the next.
template <Scalar D, Scalar R>
struct TotalVariationRecurrence final : Recurrence<D> {
  // Slots of a bank, all squares: of the change of x, of x, of the dual residual, of s and of the
  // primal residual, which are reduced together. Each step of conjugate gradients uses the other
  // bank for |s'|². The squares of q and w are outside of the banks. See solve/scalars.hpp.
  enum Slot : int { change, size, dual, ss, primal, bank_size };
  enum Common : int { qq = 2 * bank_size, ww, unused, slot_count };
  static constexpr int in_bank(int bank, Slot slot) { return bank * bank_size + slot; }

  TotalVariationRecurrence(Solver<D>& solver, const LinearOperator<D, R>& the_operator,
                           const LinearOperator<D>& the_gradient, const ConstArrayView<R>& data,
                           const TotalVariationOptions<D>& options);

  void iterate(int parity) override;
  SolverCheck evaluate() override;
  SolverNorms true_norms() override;
  void visit_state(StateVisitor& visitor) override;

  void register_dependencies();
  void step_x(int bank, bool is_last);
  void update_multiplier(int bank);

  Real<D> coupling() const { return static_cast<Real<D>>(rho); }

  /// The bank in which an iteration begins: steps alternate between banks, across iterations.
  int first_bank(index_t iteration) const {
    return static_cast<int>((iteration % 2) * (inner_iterations % 2));
  }

  detail::SumInto of_domain(int slot) { return {scalars, domain, slot}; }
  detail::SumInto of_range(int slot) { return {scalars, range, slot}; }
  detail::SumInto of_gradients(int slot) { return {scalars, gradients, slot}; }

  using Recurrence<D>::x;
  LinearOperator<D, R> a;
  LinearOperator<D> g;
  double mu;
  double rho;
  index_t inner_iterations;
  int components;  // of the vectors that are shrunk
  ConstArrayView<R> y;
  DistributedArray<R> r;    // y - A x
  DistributedArray<R> q;    // A p
  DistributedArray<D> t;    // z - u - G x
  DistributedArray<D> w;    // G p, or G x
  DistributedArray<D> u;    // the multiplier divided by rho
  DistributedArray<D> p;    // the search direction
  DistributedArray<D> s;    // Aᴴr + rho Gᴴt
  DistributedArray<D> old;  // x before this iteration
  detail::SumSpace domain;
  detail::SumSpace range;
  detail::SumSpace gradients;
  detail::Scalars scalars;
};

template <Scalar D, Scalar R>
TotalVariationRecurrence<D, R>::TotalVariationRecurrence(Solver<D>& solver,
                                                         const LinearOperator<D, R>& the_operator,
                                                         const LinearOperator<D>& the_gradient,
                                                         const ConstArrayView<R>& data,
                                                         const TotalVariationOptions<D>& options)
    : Recurrence<D>(solver),
      a(the_operator),
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
      scalars(a.domain().device(), slot_count, {&domain, &range, &gradients}) {
  // r = y - A x
  copy(y, r);
  if (options.x0) a.forward(x, r, {-1, 1});
  copy(x, old);
  // With u = 0 and z = G x instead, an x0 with A x0 = y would be stationary and look converged.
  update_multiplier(0);
  if (this->options().checkpoint) register_dependencies();
}

template <Scalar D, Scalar R>
void TotalVariationRecurrence<D, R>::register_dependencies() {
  this->depends_on("mu", mu);
  this->depends_on("rho", rho);
  this->depends_on("inner_iterations", static_cast<double>(inner_iterations));
  this->depends_on("the number of components of gradients", components);
  this->depends_on("y", y);
  // The gradient of x = 0 does not depend on G, but that of p does. w is scratch here.
  g.forward(p, w);
  this->depends_on("G p", w, AnyRecurrence::Origin::computed);
}

template <Scalar D, Scalar R>
void TotalVariationRecurrence<D, R>::iterate(int parity) {
  copy(x, old);
  int bank = first_bank(parity);
  for (index_t left = inner_iterations; left > 0; --left) {
    step_x(bank, left == 1);
    bank = 1 - bank;
  }
  update_multiplier(bank);
}

/// One step of conjugate gradients for x. The last one computes neither t nor the next direction.
template <Scalar D, Scalar R>
void TotalVariationRecurrence<D, R>::step_x(int bank, bool is_last) {
  // q = A p, w = G p
  a.forward(p, q);
  g.forward(p, w);
  // |q|², |w|²
  detail::sum_product(of_range(qq), q, q);
  detail::sum_product(of_gradients(ww), w, w);
  scalars.finish(range, qq, 1, gradients, 1);

  // alpha = |s|² / (|q|² + rho |w|²)
  const double* gamma = scalars[in_bank(bank, ss)];
  const detail::Quotient alpha{gamma, scalars[qq], scalars[ww], rho};
  // r -= alpha q
  detail::step_residual(of_range(unused), alpha, q, r);
  if (is_last) {
    // x += alpha p; update_multiplier() recomputes t and p
    const detail::Quotient any{gamma, gamma};
    detail::step_solution(alpha, any, s, x, p);
    return;
  }
  // t -= alpha w
  detail::step_residual(of_gradients(unused), alpha, w, t);
  // s' = Aᴴr + rho Gᴴt
  a.adjoint(r, s);
  g.adjoint(t, s, {coupling(), 1});

  // |s'|²
  const int next = in_bank(1 - bank, ss);
  detail::sum_product(of_domain(next), s, s);
  scalars.finish(domain, next, 1);
  // beta = |s'|² / |s|²
  const detail::Quotient beta{scalars[next], gamma};
  // x += alpha p, p = s' + beta p
  detail::step_solution(alpha, beta, s, x, p);
}

/// Updates z and u for the new x, and begins the next least-squares problem.
template <Scalar D, Scalar R>
void TotalVariationRecurrence<D, R>::update_multiplier(int bank) {
  // |x - old|², |x|²
  of_domain(in_bank(bank, change))([&](auto device, index_t first, index_t n, double* out) {
    kernels::change(device, detail::reals_in<D> * n, detail::reals(x, first),
                    detail::reals(old, first), out);
  });

  // w = G x
  g.forward(x, w);
  // z = shrink(w + u, mu / rho), u = w + u - z, t = z - w, |t|²
  const auto threshold = static_cast<Real<D>>(mu / rho);
  of_gradients(in_bank(bank, primal))([&](auto device, index_t first, index_t n, double* out) {
    kernels::shrink(device, n / components, components, threshold, kernel_cast(w.data() + first),
                    kernel_cast(u.data() + first), kernel_cast(t.data() + first), out);
  });

  // s = Aᴴr - rho Gᴴu, the dual residual, and |s|²
  a.adjoint(r, s);
  g.adjoint(u, s, {-coupling(), 1});
  detail::sum_product(of_domain(in_bank(bank, dual)), s, s);
  // s += rho Gᴴt, which makes it Aᴴr + rho Gᴴ(z - u - G x), and |s|²
  g.adjoint(t, s, {coupling(), 1});
  detail::sum_product(of_domain(in_bank(bank, ss)), s, s);
  // t = z - u - G x
  axpy(-1, u, t);
  // p = s
  copy(s, p);
  scalars.finish(domain, in_bank(bank, change), 4, gradients, 1);
}

template <Scalar D, Scalar R>
SolverCheck TotalVariationRecurrence<D, R>::evaluate() {
  std::array<double, slot_count> values{};
  scalars.read(values);
  const auto squares = [&](int slot) { return values[static_cast<std::size_t>(slot)]; };
  const int bank = first_bank(this->iteration());
  const auto now = [&](Slot slot) { return squares(in_bank(bank, slot)); };

  SolverCheck check;
  check.residual_norm = std::sqrt(now(primal));
  check.gradient_norm = std::sqrt(now(dual));
  this->expect_finite(check, "the primal residual |G x - z|", check.residual_norm);
  this->expect_finite(check, "the dual residual |Aᴴ(y - A x) - rho Gᴴu|", check.gradient_norm);
  if (this->iteration() == 0) return check;

  // A zero curvature is a breakdown, unless the gradient of the least-squares problem is zero, too.
  constexpr double negligible = 1e-200;
  const double gradient = squares(in_bank(1 - bank, ss));
  const double curvature = squares(qq) + rho * squares(ww);
  constexpr const char* what = "|A p|² + rho |G p|², with the search direction p,";
  this->expect_finite(check, what, curvature);
  if (gradient > negligible) {
    this->expect_positive(check, what, curvature,
                          "adjoint() does not match forward(); check with dot_test()");
  }
  check.converged = std::sqrt(now(change)) <= this->threshold(std::sqrt(now(size)));
  return check;
}

template <Scalar D, Scalar R>
SolverNorms TotalVariationRecurrence<D, R>::true_norms() {
  // q and w are scratch: an iteration writes them before it reads them. It reads the old s only in
  // step_solution() of the last step, which computes a p that is not used.
  // q = y - A x
  copy(y, q);
  a.forward(x, q, {-1, 1});
  // s = Aᴴq - rho Gᴴu
  a.adjoint(q, s);
  g.adjoint(u, s, {-coupling(), 1});
  // w = t + u = z - G x
  copy(t, w);
  axpy(1, u, w);
  return {.residual = norm(w), .gradient = norm(s)};
}

template <Scalar D, Scalar R>
void TotalVariationRecurrence<D, R>::visit_state(StateVisitor& visitor) {
  visitor.visit("x", x);
  visitor.visit("r", r);
  visitor.visit("t", t);
  visitor.visit("u", u);
  visitor.visit("p", p);
  visitor.visit("scalars", scalars.memory(), scalars.count());
}

}  // namespace

template <Scalar D, Scalar R>
TotalVariation<D, R>::TotalVariation(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                                     const SolverOptions& options,
                                     const TotalVariationOptions<D>& total_variation_options)
    : Solver<D>(where, a.domain(), a.range(), total_variation_options.x0, options, a.capturable()) {
  check_options(total_variation_options);
  detail::check_problem(where, a, y);
  const auto g = gradient_of_model<D>(a.domain(), total_variation_options.gradient);
  this->start(
      std::make_unique<TotalVariationRecurrence<D, R>>(*this, a, g, y, total_variation_options));
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
