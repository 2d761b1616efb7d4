#pragma once

// Regularised, weighted and preconditioned least squares. These functions build a system for cgls()
// or cg(), and stop as those do.

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>

#include <optional>
#include <type_traits>
#include <vector>

namespace weft {

/// Adds weight² |op x - data|² to the objective. The data are zero if not given.
template <Scalar D>
struct Regularizer {
  LinearOperator<D> op;
  double weight = 1;
  std::optional<ConstArrayView<D>> data = {};
};

template <Scalar D, Scalar R = D>
struct InversionOptions {
  /// W^½, where W is the weight of the data. Its range may differ from that of A.
  std::optional<LinearOperator<R>> root_weight = {};
  /// Adds damp² |x|². It damps x, not x - x0.
  double damp = 0;
  /// The first iterate; zero if not given.
  std::optional<ConstArrayView<D>> x0 = {};
  /// Hermitian, positive definite, close to the inverse of AᴴW A + Σ weight² RᴴR + damp².
  std::optional<LinearOperator<D>> preconditioner = {};
};

/// Minimises
///   |W^½ (y - A x)|² + Σ weight² |R x - d|² + damp² |x|²
/// where each R and d are a regularizer and its data, by cgls() on the stacked operators, which
/// does not square the condition number. Tolerances apply to the gradient of half of this
/// objective.
///
/// In the solution, `residual_norm` is the misfit of the data, |W^½ (y - A x)|, and `gradient_norm`
/// is |AᴴW (y - A x) + Σ weight² Rᴴ(d - R x) - damp² x|. Residual norms in the history are those of
/// the stacked system: their squares are the objective without the damping term.
template <Scalar D, Scalar R>
Solution<D> regularized_inversion(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                                  const std::vector<Regularizer<D>>& regularizers,
                                  const SolverOptions& options = {},
                                  const InversionOptions<D, R>& inversion_options = {});

template <Scalar D, Scalar R = D>
struct NormalEquationsOptions {
  /// W, Hermitian and positive definite, such as the inverse of a covariance. Its root is not
  /// needed.
  std::optional<LinearOperator<R>> weight = {};
  double damp = 0;
  std::optional<ConstArrayView<D>> x0 = {};
  std::optional<LinearOperator<D>> preconditioner = {};
};

/// Solves the same problem by cg() on
///   (AᴴW A + Σ weight² RᴴR + damp²) x = AᴴW y + Σ weight² Rᴴd
/// This needs less memory, and uses the optimised A.normal() of operators that have one, but
/// squares the condition number. The sum must be positive definite. The norms of the solution are
/// defined as above; both norms in the history are gradient norms.
template <Scalar D, Scalar R>
Solution<D> normal_equations_inversion(
    const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
    const std::vector<Regularizer<D>>& regularizers, const SolverOptions& options = {},
    const NormalEquationsOptions<D, R>& normal_equations_options = {});

template <Scalar D>
struct PreconditionedOptions {
  /// Adds damp² |p|².
  double damp = 0;
  /// The first iterate of p; zero if not given.
  std::optional<ConstArrayView<D>> p0 = {};
};

/// x = P p, and p.
template <Scalar D>
struct PreconditionedSolution : Solution<D> {
  DistributedArray<D> p;
};

/// Returns x = P p, where p minimises |y - A P p|² + damp² |p|², by cgls(). P maps to the desired
/// kind of models, such as smooth ones. `residual_norm` is |y - A x|; `gradient_norm` is that with
/// respect to p, |PᴴAᴴ(y - A x) - damp² p|. The history is that of p.
template <Scalar D, Scalar R>
PreconditionedSolution<D> preconditioned_inversion(
    const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
    const std::type_identity_t<LinearOperator<D>>& p, const SolverOptions& options = {},
    const PreconditionedOptions<D>& preconditioned_options = {});

}  // namespace weft
