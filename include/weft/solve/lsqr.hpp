#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>

#include <memory>
#include <optional>

namespace weft {

template <Scalar D>
struct LsqrOptions {
  /// Of |y - A x|² + damp² |x|², which is made small. It is x that is damped, not x - x0.
  double damp = 0;
  /// Where to start; zero if not given. Together with damping it takes one more array.
  std::optional<ConstArrayView<D>> x0 = {};
  /// How exact A and y are, relative to their norms. If not given, relative_tolerance of the
  /// solver's options, which is 1e-8 by default.
  std::optional<double> atol = {};
  std::optional<double> btol = {};
  /// Stops when the estimate of the condition of A exceeds it; infinity for no limit but that of
  /// the arrays' precision.
  double condition_limit = 1e8;
  /// Estimates variances, for one more real array.
  bool variance = false;
};

/// What LSQR knows of the problem from its recurrences. A norm of A is that of Frobenius, seen
/// from the directions it has tried so far; with damping, A stands for A over damp times identity.
struct LsqrEstimates {
  double a_norm = 0;
  /// |A| times the norm of its pseudo-inverse. Being one of Frobenius, larger than cond(A) in the
  /// end; condition_estimate() approaches that from below.
  double condition = 0;
  /// |y - A x|
  double residual_norm = 0;
  /// The root of |y - A x|² + damp² |x|².
  double damped_residual_norm = 0;
  /// |Aᴴ(y - A x) - damp² x|
  double gradient_norm = 0;
  double x_norm = 0;
};

template <Scalar D>
struct LsqrSolution : Solution<D> {
  LsqrEstimates estimates = {};
  /// If asked for.
  std::optional<DistributedArray<Real<D>>> variance = {};
};

/// LSQR of Paige and Saunders (ACM Trans. Math. Softw. 8, 1982): makes |y - A x|² + damp² |x|² as
/// small as can be. Iterates are those of Cgls, with smaller rounding errors where A is
/// ill-conditioned. Of several such x without damping, finds the one closest to x0.
///
/// Stops, and says in its message which it was, when, for the norms of LsqrEstimates (r being the
/// damped residual, g the gradient), all as the iterations carry them along:
///   - g = 0 in the beginning: where it starts is a solution;
///   - |r| <= btol |y| + atol |A| |x|: A x = y, as far as A and y are known. If y = 0, the first
///     residual takes its place;
///   - |g| <= atol |A| |r|: the least-squares problem is solved, as far as A is known;
///   - cond(A) >= condition_limit, for the reason StopReason::condition_limit: what comes would be
///     made of rounding errors and noise;
///   - one of these three with the precision of the arrays for atol, btol and 1 / condition_limit;
///   - |g| <= absolute_tolerance of the solver's options, as Cgls does.
/// relative_tolerance of the solver's options stands for atol and btol where these are not given.
template <Scalar D, Scalar R>
class Lsqr final : public Solver<D> {
 public:
  /// Copies y, unless it is moved in.
  Lsqr(const LinearOperator<D, R>& a, DistributedArray<R> y, const SolverOptions& options = {},
       const LsqrOptions<D>& lsqr_options = {})
      : Lsqr(a, ConstArrayView<R>(std::move(y)), options, lsqr_options) {}
  /// Reads y through the view; its memory must outlive the solver.
  Lsqr(const LinearOperator<D, R>& a, const ConstArrayView<R>& y, const SolverOptions& options = {},
       const LsqrOptions<D>& lsqr_options = {});
  ~Lsqr() override;

  /// As of the last look at the norms.
  const LsqrEstimates& estimates() const;
  /// Estimates of the diagonal of (AᴴA + damp²)⁻¹, which come from below and are exact after as
  /// many iterations as there are unknowns, but for rounding. Times the variance of the noise in
  /// y, they are variances of x. Throws unless LsqrOptions::variance was set.
  const DistributedArray<Real<D>>& variance() const;

 private:
  struct State;
  using typename AnySolver::Check;
  using typename AnySolver::Norms;

  void iterate(int parity) override;
  Check evaluate() override;
  Norms true_norms() override;
  void visit_own_state(StateVisitor& visitor) override;

  /// The second half of an iteration, and of the beginning: x, and from u the next v.
  void step_v();
  void check_norms(Check& check) const;

  std::unique_ptr<State> state_;
};

/// Runs Lsqr until it stops.
template <Scalar D, Scalar R>
LsqrSolution<D> lsqr(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                     const SolverOptions& options = {}, const LsqrOptions<D>& lsqr_options = {});

}  // namespace weft
