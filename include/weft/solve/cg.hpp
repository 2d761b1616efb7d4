#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>

#include <memory>
#include <optional>

namespace weft {

template <Scalar T>
struct CgOptions {
  /// Where to start; zero if not given.
  std::optional<ConstArrayView<T>> x0 = {};
  /// Hermitian and positive definite, and close to the inverse of A.
  std::optional<LinearOperator<T>> preconditioner = {};
  /// One collective per iteration in place of two, for one more array and one more pass over
  /// arrays: for many ranks and small arrays. Rounding errors grow a little faster.
  bool single_reduction = false;
};

/// Conjugate gradients for A x = y, where A is Hermitian and positive definite: A maps a space to
/// itself, and Re<x, A x> > 0 unless x = 0. Stops when |y - A x|, the gradient norm here, is at
/// most the tolerance, which is relative to |y| (to the first residual if y = 0).
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
  ~Cg() override;

 private:
  struct State;
  using typename AnySolver::Check;
  using typename AnySolver::Norms;

  void iterate(int parity) override;
  Check evaluate() override;
  Norms true_norms() override;
  void visit_own_state(StateVisitor& visitor) override;

  void iterate_with_two_sums(int parity);
  void iterate_with_one_sum(int parity);
  /// Applies the preconditioner to r, and finishes the sums that the next step needs.
  void look_ahead(int bank);

  std::unique_ptr<State> state_;
};

/// Runs Cg until it stops.
template <Scalar T>
Solution<T> cg(const LinearOperator<T>& a, const ConstArrayView<T>& y,
               const SolverOptions& options = {}, const CgOptions<T>& cg_options = {});

}  // namespace weft
