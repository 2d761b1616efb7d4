#pragma once

// Inverse problems with more in them than an operator and data. All of these are short ways to
// cgls() and cg(), and stop as those do.

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>

#include <optional>
#include <type_traits>
#include <vector>

namespace weft {

/// Adds weight² |op x - data|² to what is made small. Without data, they are zero.
template <Scalar D>
struct Regularizer {
  LinearOperator<D> op;
  double weight = 1;
  std::optional<ConstArrayView<D>> data = {};
};

template <Scalar D, Scalar R = D>
struct InversionOptions {
  /// W^½ of the weight W of the data; its range may differ from that of A.
  std::optional<LinearOperator<R>> root_weight = {};
  /// Adds damp² |x|². It is x that is damped, not x - x0.
  double damp = 0;
  /// Where to start; zero if not given.
  std::optional<ConstArrayView<D>> x0 = {};
  /// Hermitian, positive definite, close to the inverse of AᴴW A + Σ weight² RᴴR + damp².
  std::optional<LinearOperator<D>> preconditioner = {};
};

/// The x for which
///   |W^½ (y - A x)|² + Σ weight² |R x - d|² + damp² |x|²
/// is least, where each R and d are a regularizer with its data; by cgls() on the operators stacked
/// one above the other, so that no condition number gets squared. Tolerances are on the gradient of
/// half of this.
///
/// Of x itself, `residual_norm` is the misfit of the data alone, |W^½ (y - A x)|, and
/// `gradient_norm` is |AᴴW (y - A x) + Σ weight² Rᴴ(d - R x) - damp² x|. Residual norms in the
/// history are of the whole stack: their squares are what is made small, but for the damping.
template <Scalar D, Scalar R>
Solution<D> regularized_inversion(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                                  const std::vector<Regularizer<D>>& regularizers,
                                  const SolverOptions& options = {},
                                  const InversionOptions<D, R>& inversion_options = {});

template <Scalar D, Scalar R = D>
struct NormalEquationsOptions {
  /// W itself, Hermitian and positive, the inverse of a covariance say: its root is not needed.
  std::optional<LinearOperator<R>> weight = {};
  double damp = 0;
  std::optional<ConstArrayView<D>> x0 = {};
  std::optional<LinearOperator<D>> preconditioner = {};
};

/// The same x by cg() on
///   (AᴴW A + Σ weight² RᴴR + damp²) x = AᴴW y + Σ weight² Rᴴd
/// which takes less memory and shorter ways to AᴴA where operators know one, but squares the
/// condition number. Some term must make the sum positive definite. Norms are those above; both
/// norms in the history are the gradient's.
template <Scalar D, Scalar R>
Solution<D> normal_equations_inversion(
    const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
    const std::vector<Regularizer<D>>& regularizers, const SolverOptions& options = {},
    const NormalEquationsOptions<D, R>& normal_equations_options = {});

template <Scalar D>
struct PreconditionedOptions {
  /// Adds damp² |p|².
  double damp = 0;
  /// Where p starts; zero if not given.
  std::optional<ConstArrayView<D>> p0 = {};
};

/// x, and the p that it is made of.
template <Scalar D>
struct PreconditionedSolution : Solution<D> {
  DistributedArray<D> p;
};

/// x = P p with the p for which |y - A P p|² + damp² |p|² is least, by cgls(): P makes models of
/// the kind that is looked for, smooth ones say. `residual_norm` is |y - A x|, `gradient_norm` that
/// of p, |PᴴAᴴ(y - A x) - damp² p|; the history is p's.
template <Scalar D, Scalar R>
PreconditionedSolution<D> preconditioned_inversion(
    const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
    const std::type_identity_t<LinearOperator<D>>& p, const SolverOptions& options = {},
    const PreconditionedOptions<D>& preconditioned_options = {});

}  // namespace weft
