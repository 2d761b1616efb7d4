#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>

#include <optional>
#include <utility>

namespace weft {

template <Scalar D>
struct LsqrOptions {
  /// Weight of the damping term damp² |x|². It damps x, not x - x0.
  double damp = 0;
  /// The first iterate; zero if not given. Needs one more array if there is damping.
  std::optional<ConstArrayView<D>> x0 = {};
  /// Relative errors of A and y. SolverOptions::relative_tolerance if not given, 1e-8 by default.
  std::optional<double> atol = {};
  std::optional<double> btol = {};
  /// Stops when the estimated condition number of A exceeds this limit. With infinity, only the
  /// precision of the arrays limits it.
  double condition_limit = 1e8;
  /// Estimates variances. Needs one more real array.
  bool variance = false;
};

/// Estimates that LSQR derives from its recurrences. Norms of A are Frobenius norms, restricted to
/// the search directions so far. With damping, A stands for A stacked on damp times the identity.
struct LsqrEstimates {
  double a_norm = 0;
  /// |A| times the norm of its pseudo-inverse, in Frobenius norms, so finally larger than cond(A).
  /// condition_estimate() converges to cond(A) from below.
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
  /// Present if LsqrOptions::variance is set.
  std::optional<DistributedArray<Real<D>>> variance = {};
};

/// LSQR of Paige and Saunders (ACM Trans. Math. Softw. 8, 1982): minimises |y - A x|² + damp² |x|².
/// In exact arithmetic the iterates are those of Cgls; rounding errors are smaller if A is
/// ill-conditioned. If the minimiser is not unique, finds the one closest to x0.
///
/// Stops when one of these tests holds for the norms of LsqrEstimates, where r is the damped
/// residual and g the gradient; the message says which:
///   - g = 0 at the start: the first iterate is a solution;
///   - |r| <= btol |y| + atol |A| |x|: A x = y to the accuracy of A and y. If y = 0, the first
///     residual norm replaces |y|;
///   - |g| <= atol |A| |r|: the least-squares problem is solved to the accuracy of A;
///   - cond(A) >= condition_limit, with StopReason::condition_limit: further iterations would only
///     amplify noise and rounding errors;
///   - one of these three with the precision of the arrays for atol, btol and 1 / condition_limit;
///   - |g| <= SolverOptions::absolute_tolerance, as in Cgls.
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

  /// As of the last check.
  const LsqrEstimates& estimates() const;
  /// Estimates of the diagonal of (AᴴA + damp²)⁻¹, from below; exact, up to rounding, after as many
  /// iterations as there are unknowns. Multiplied by the variance of the noise in y, they are the
  /// variances of x. Throws unless LsqrOptions::variance is set.
  const DistributedArray<Real<D>>& variance() const;
};

/// Runs Lsqr until it stops.
template <Scalar D, Scalar R>
LsqrSolution<D> lsqr(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                     const SolverOptions& options = {}, const LsqrOptions<D>& lsqr_options = {});

}  // namespace weft
