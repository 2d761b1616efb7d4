#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>

#include <memory>
#include <optional>

namespace weft {

template <Scalar D>
struct CglsOptions {
  /// Of |y - A x|² + damp² |x|², which is made small. It is x that is damped, not x - x0.
  double damp = 0;
  /// Where to start; zero if not given.
  std::optional<ConstArrayView<D>> x0 = {};
  /// Hermitian and positive definite, and close to the inverse of AᴴA + damp².
  std::optional<LinearOperator<D>> preconditioner = {};
};

/// Conjugate gradients for least squares: makes |y - A x|² + damp² |x|² as small as can be. Of
/// several such x without damping, finds the one closest to x0 (in the norm that a preconditioner
/// defines). Stops when the gradient |Aᴴ(y - A x) - damp² x| is at most the tolerance, which is
/// relative to its norm at x = 0, |Aᴴ y| (to the first gradient if that is 0).
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
  ~Cgls() override;

 private:
  struct State;
  using typename AnySolver::Check;
  using typename AnySolver::Norms;

  void iterate(int parity) override;
  Check evaluate() override;
  Norms true_norms() override;
  void visit_own_state(StateVisitor& visitor) override;
  void restore_partial_sums() override;

  std::unique_ptr<State> state_;
};

/// Runs Cgls until it stops.
template <Scalar D, Scalar R>
Solution<D> cgls(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options = {}, const CglsOptions<D>& cgls_options = {});

}  // namespace weft
