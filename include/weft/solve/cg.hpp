#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>

#include <optional>
#include <utility>

namespace weft {

template <Scalar T>
struct CgOptions {
  /// The first iterate; zero if not given.
  std::optional<ConstArrayView<T>> x0 = {};
  /// M: Hermitian, positive definite, and close to the inverse of A.
  std::optional<LinearOperator<T>> preconditioner = {};
  /// Uses one collective call per iteration instead of two, at the cost of one more array and one
  /// more pass over the arrays. Pays off for small arrays on many ranks. Rounding errors grow
  /// slightly faster.
  bool single_reduction = false;
};

/// Conjugate gradients for A x = y, where A is Hermitian and positive definite: A maps a space to
/// itself, and Re<x, A x> > 0 for all x != 0. Stops when |y - A x| is at most the tolerance, which
/// is relative to |y|, or to the first residual norm if y = 0. The gradient norm equals the
/// residual norm.
template <Scalar T>
class Cg final : public Solver<T> {
 public:
  /// Copies y, unless it is moved in.
  Cg(const LinearOperator<T>& a, DistributedArray<T> y, const SolverOptions& options = {},
     const CgOptions<T>& cg_options = {})
      : Cg(a, ConstArrayView<T>(std::move(y)), options, cg_options) {}
  /// Reads y through the view; its memory must outlive the solver.
  Cg(const LinearOperator<T>& a, const ConstArrayView<T>& y, const SolverOptions& options = {},
     const CgOptions<T>& cg_options = {});
};

/// Runs Cg until it stops.
template <Scalar T>
Solution<T> cg(const LinearOperator<T>& a, const ConstArrayView<T>& y,
               const SolverOptions& options = {}, const CgOptions<T>& cg_options = {});

}  // namespace weft
