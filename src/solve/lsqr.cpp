#include <weft/solve/lsqr.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/solve/recurrence.hpp>

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
    // The comparison is false for NaN.
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

/// |y - A x|, from the root of |y - A x|² + damp² |x|².
double undamped(double damped_residual_norm, double damp, double x_norm) {
  const double rest = damp * x_norm;
  return std::sqrt(std::max(0.0, (damped_residual_norm - rest) * (damped_residual_norm + rest)));
}

// LSQR in the notation of Paige and Saunders. Their u and v have norm 1; here |u| = beta and
// |v| = alpha, and the kernels that read u or v divide. With u = y - A x and v = Aᴴu / beta at the
// start, an iteration extends the bidiagonalisation by a new u,
//
//   u        = A v / alpha - (alpha / beta) u
//   beta     = |u|
//
// computes the rotations that eliminate damp and beta,
//
//   rho_damp = sqrt(rho_bar² + damp²)
//   rho      = sqrt(rho_damp² + beta²)
//   cosine   = rho_damp / rho
//   sine     = beta / rho
//   phi      = cosine (rho_bar / rho_damp) phi_bar
//   phi_bar  = sine (rho_bar / rho_damp) phi_bar
//
// updates the solution,
//
//   w        = v / alpha - back w
//   x       += (phi / rho) w
//
// and extends the bidiagonalisation by a new v:
//
//   v        = Aᴴu / beta - (beta / alpha) v
//   alpha    = |v|
//   theta    = sine alpha
//   back     = theta / rho
//   rho_bar  = -cosine alpha
//
// There are two reductions: one for |u|², one for |x|², |w|² and |v|². The scalars are LsqrNumbers,
// and kernels with a single thread update them on the device.
//
// This damps the change of x, not x itself. To damp x when there is an x0, damping becomes rows of
// the problem: A is stacked on damp times the identity, and y on zero. `tail` is u in these rows.
template <Scalar D, Scalar R>
struct LsqrRecurrence final : Recurrence<D> {
  // The sums at the beginning of LsqrNumbers; see solve/scalars.hpp.
  enum Slot : int { uu, tt, xx, ww, vv };

  LsqrRecurrence(Solver<D>& solver, const LinearOperator<D, R>& the_operator,
                 const ConstArrayView<R>& data, const LsqrOptions<D>& lsqr_options);

  void iterate(int parity) override;
  SolverCheck evaluate() override;
  SolverNorms true_norms() override;
  void visit_state(StateVisitor& visitor) override;

  void update_x_and_v();
  void test_convergence(SolverCheck& check) const;

  /// The damping that the rotations apply; 0 if damping is part of the stacked problem.
  double implicit_damp() const { return tail ? 0 : damp; }

  LsqrNumbers* numbers() { return reinterpret_cast<LsqrNumbers*>(scalars.at(0)); }

  detail::SumInto of_domain(Slot slot) { return {scalars, domain, slot}; }
  detail::SumInto of_range(Slot slot) { return {scalars, range, slot}; }

  /// u = factor q / alpha - (alpha / beta) u, |u|². `to` is u or its tail.
  template <Scalar T>
  void extend_u(const detail::SumInto& into, double factor, const ConstArrayView<T>& of,
                DistributedArray<T>& to) {
    extend(into, &numbers()->alpha, &numbers()->beta, factor, of, to);
  }
  /// v = s / beta - (beta / alpha) v, |v|²
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

  /// Reduces |u|².
  void finish_u() {
    if (tail) {
      scalars.finish(range, uu, 1, domain, 1);
    } else {
      scalars.finish(range, uu, 1);
    }
  }

  /// Calls kernel(device, numbers), which updates the scalars.
  template <class Kernel>
  void update_numbers(Kernel kernel) {
    dispatch(scalars.device(), [&](auto device) { kernel(device, numbers()); });
  }

  using Recurrence<D>::x;
  LinearOperator<D, R> a;
  double damp;
  bool starts_from_zero;
  double atol;
  double btol;
  double condition_limit;
  ConstArrayView<R> y;
  DistributedArray<R> u;                    // beta times the left vector
  DistributedArray<R> q;                    // A v
  DistributedArray<D> v;                    // alpha times the right vector
  DistributedArray<D> w;                    // the search direction
  DistributedArray<D> s;                    // Aᴴ u
  std::optional<DistributedArray<D>> tail;  // u in the rows of explicit damping
  std::optional<DistributedArray<Real<D>>> variance;
  detail::SumSpace domain;
  detail::SumSpace range;
  detail::Scalars scalars;
  double y_norm = 0;
  double x0_norm = 0;
  double least_a_norm = 0;  // a lower bound of |A|: |A x0| / |x0|
  LsqrEstimates estimates;
};

template <Scalar D, Scalar R>
LsqrRecurrence<D, R>::LsqrRecurrence(Solver<D>& solver, const LinearOperator<D, R>& the_operator,
                                     const ConstArrayView<R>& data,
                                     const LsqrOptions<D>& lsqr_options)
    : Recurrence<D>(solver),
      a(the_operator),
      damp(lsqr_options.damp),
      starts_from_zero(!lsqr_options.x0),
      atol(lsqr_options.atol.value_or(this->options().relative_tolerance)),
      btol(lsqr_options.btol.value_or(this->options().relative_tolerance)),
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

  // u = y - A x, tail = -damp x
  copy(y, u);
  y_norm = norm(y);
  if (!starts_from_zero) {
    a.forward(x, q);
    axpy(-1, q, u);
    x0_norm = norm(x);
    if (x0_norm > 0) least_a_norm = norm(q) / x0_norm;
    if (y_norm == 0) y_norm = norm(u);
    if (tail) axpby(static_cast<Real<D>>(-damp), x, 0, *tail);
  }
  // beta = |u|
  detail::sum_product(of_range(uu), u, u);
  if (tail) detail::sum_product(of_domain(tt), *tail, *tail);
  finish_u();
  update_numbers([](auto device, LsqrNumbers* all) { kernels::lsqr_begin(device, all); });
  // v = Aᴴu / beta, alpha = |v|
  update_x_and_v();
  this->depends_on("damp", damp);
  this->depends_on("y", y);
}

template <Scalar D, Scalar R>
void LsqrRecurrence<D, R>::iterate(int /*parity*/) {
  // q = A v
  a.forward(v, q);
  // u = q / alpha - (alpha / beta) u, |u|²
  extend_u(of_range(uu), 1, q, u);
  if (tail) {
    // tail = damp v / alpha - (alpha / beta) tail, |tail|²
    extend_u(of_domain(tt), damp, v, *tail);
  }
  finish_u();
  // beta = |u|; rho, cosine, sine, phi, phi_bar
  update_numbers(
      [&](auto device, LsqrNumbers* all) { kernels::lsqr_rotate(device, implicit_damp(), all); });
  update_x_and_v();
}

/// The second half of an iteration. At the start, where w and phi are 0, it computes the first v.
template <Scalar D, Scalar R>
void LsqrRecurrence<D, R>::update_x_and_v() {
  // s = Aᴴu + damp tail
  a.adjoint(u, s);
  if (tail) axpy(static_cast<Real<D>>(damp), *tail, s);

  // w = v / alpha - back w, x += (phi / rho) w, |x|², |w|²
  const LsqrNumbers* all = numbers();
  of_domain(xx)([&](auto device, index_t first, index_t n, double* out) {
    kernels::lsqr_step(device, detail::reals_in<D> * n, all, detail::reals(v, first),
                       detail::reals(w, first), detail::reals(x, first), out);
  });
  if (variance) {
    // variance += |w / rho|²
    dispatch(x.device(), [&](auto device) {
      kernels::lsqr_add_variance(device, x.local_count(), is_complex<D> ? 2 : 1, all,
                                 detail::reals(w), variance->data());
    });
  }
  // v = s / beta - (beta / alpha) v, |v|²
  extend_v();
  scalars.finish(domain, xx, 3);
  // alpha = |v|, back = theta / rho, rho_bar = -cosine alpha; norms
  update_numbers([](auto device, LsqrNumbers* now) { kernels::lsqr_advance(device, now); });
}

template <Scalar D, Scalar R>
SolverCheck LsqrRecurrence<D, R>::evaluate() {
  std::array<double, number_count> values{};
  scalars.read(values);
  const auto now = std::bit_cast<LsqrNumbers>(values);

  estimates.a_norm = std::max(std::sqrt(now.a_squares), least_a_norm);
  estimates.condition = std::sqrt(now.a_squares * now.d_squares);
  // If x0 is a solution, the kernels stop before they sum |x|².
  estimates.x_norm = this->iteration() == 0 ? x0_norm : now.x_norm;
  estimates.damped_residual_norm = std::hypot(now.phi_bar, std::sqrt(now.psi_squares));
  estimates.residual_norm = undamped(estimates.damped_residual_norm, damp, estimates.x_norm);
  estimates.gradient_norm = now.gradient_norm;

  SolverCheck check;
  check.residual_norm = estimates.residual_norm;
  check.gradient_norm = estimates.gradient_norm;
  test_convergence(check);
  this->expect_finite(check, this->iteration() == 0 ? "|y - A x|" : "beta = |A v - alpha u|",
                      now.beta);
  this->expect_finite(check, "alpha = |Aᴴ u - beta v|", now.alpha);
  this->expect_finite(check, "|x|", now.x_norm);
  return check;
}

template <Scalar D, Scalar R>
void LsqrRecurrence<D, R>::test_convergence(SolverCheck& check) const {
  const LsqrEstimates& now = estimates;
  constexpr double precision = std::numeric_limits<Real<D>>::epsilon();
  const double absolute_tolerance = this->options().absolute_tolerance;

  const auto is_consistent = [&](double a_tolerance, double b_tolerance) {
    return now.damped_residual_norm <= b_tolerance * y_norm + a_tolerance * now.a_norm * now.x_norm;
  };
  const auto is_least = [&](double tolerance) {
    return now.gradient_norm <= tolerance * now.a_norm * now.damped_residual_norm;
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
    converge(starts_from_zero ? "x = 0 is the solution" : "x0 is the solution");
  } else if (is_consistent(atol, btol)) {
    converge("A x = y to atol and btol");
  } else if (is_least(atol)) {
    converge("least squares to atol");
  } else if (absolute_tolerance > 0 && now.gradient_norm <= absolute_tolerance) {
    converge("the gradient is within absolute_tolerance");
  } else if (now.condition >= condition_limit) {
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
SolverNorms LsqrRecurrence<D, R>::true_norms() {
  // q and s are scratch: an iteration writes them before it reads them.
  const auto [residual, gradient] = detail::least_squares_norms(a, y, damp, x, q, s);
  return {.residual = residual, .gradient = gradient};
}

template <Scalar D, Scalar R>
void LsqrRecurrence<D, R>::visit_state(StateVisitor& visitor) {
  visitor.visit("x", x);
  visitor.visit("u", u);
  visitor.visit("v", v);
  visitor.visit("w", w);
  if (tail) visitor.visit("tail", *tail);
  if (variance) visitor.visit("variance", *variance);
  visitor.visit("scalars", scalars.memory(), scalars.count());
}

}  // namespace

template <Scalar D, Scalar R>
Lsqr<D, R>::Lsqr(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options, const LsqrOptions<D>& lsqr_options)
    : Solver<D>("lsqr", a.domain(), a.range(), lsqr_options.x0, options, a.capturable()) {
  check_lsqr_options(lsqr_options);
  detail::check_problem("lsqr", a, y);
  this->start(std::make_unique<LsqrRecurrence<D, R>>(*this, a, y, lsqr_options));
}

template <Scalar D, Scalar R>
const LsqrEstimates& Lsqr<D, R>::estimates() const {
  return static_cast<const LsqrRecurrence<D, R>&>(this->recurrence()).estimates;
}

template <Scalar D, Scalar R>
const DistributedArray<Real<D>>& Lsqr<D, R>::variance() const {
  const auto& recurrence = static_cast<const LsqrRecurrence<D, R>&>(this->recurrence());
  require(recurrence.variance.has_value(),
          "lsqr: there are no variances; set LsqrOptions::variance to estimate them");
  return *recurrence.variance;
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
