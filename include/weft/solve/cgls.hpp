#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>

#include <optional>
#include <utility>

namespace weft {

template <Scalar D>
struct CglsOptions {
  /// Weight of the damping term damp² |x|². It damps x, not x - x0.
  double damp = 0;
  /// The first iterate; zero if not given.
  std::optional<ConstArrayView<D>> x0 = {};
  /// M: Hermitian, positive definite, and close to the inverse of AᴴA + damp².
  std::optional<LinearOperator<D>> preconditioner = {};
};

/// Conjugate gradients for least squares: minimises |y - A x|² + damp² |x|². If the minimiser is
/// not unique, finds the one closest to x0, in the norm that the preconditioner defines. Stops when
/// the gradient norm |Aᴴ(y - A x) - damp² x| is at most the tolerance, which is relative to the
/// gradient norm at x = 0, |Aᴴ y|, or to the first gradient norm if that is 0.
template <Scalar D, Scalar R>
class Cgls final : public Solver<D> {
 public:
  /// Copies y, unless it is moved in.
  Cgls(const LinearOperator<D, R>& a, DistributedArray<R> y, const SolverOptions& options = {},
       const CglsOptions<D>& cgls_options = {})
      : Cgls(a, ConstArrayView<R>(std::move(y)), options, cgls_options) {}
  /// Reads y through the view; its memory must outlive the solver.
  Cgls(const LinearOperator<D, R>& a, const ConstArrayView<R>& y, const SolverOptions& options = {},
       const CglsOptions<D>& cgls_options = {});
};

/// Runs Cgls until it stops.
template <Scalar D, Scalar R>
Solution<D> cgls(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options = {}, const CglsOptions<D>& cgls_options = {});

}  // namespace weft
