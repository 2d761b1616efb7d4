#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>
#include <weft/solve/threshold.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weft {

template <Scalar D>
struct IstaOptions {
  /// Weight of the penalty; not negative.
  double eps = 0.1;
  /// The penalty P. With `hard` and `half`, F has many local minima: the result depends on x0, and
  /// there is no theory of convergence for Fista.
  Threshold threshold = Threshold::soft;
  /// S, the transform in which x is sparse; the identity if not given. It must be unitary, or at
  /// least satisfy SᴴS = 1 (a tight frame); the minimum of F is then reached only approximately.
  std::optional<LinearOperator<D>> sparsifier = {};
  /// The step length t. If not given, 1 / (1.05 L), where L is the largest eigenvalue of AᴴA,
  /// estimated by up to 50 power iterations. Iterations may diverge if t > 1 / L.
  std::optional<double> step = {};
  /// Multiplies t by 0.7 while |A d|² > |d|² / t, where d is the change made by the step, so that L
  /// need not be known. The initial t is `step`, or |g|² / |A g|² for the first gradient g, which
  /// is at least 1 / L (1 if g = 0). Each trial applies A once, and the host blocks on it.
  bool backtracking = false;
  /// For Fista: resets the momentum when it points uphill, Re<z - x', x' - x> > 0 (the gradient
  /// scheme of O'Donoghue and Candès). Needs no additional collective call.
  bool restart = true;
  /// Iteration k, counted from 0, multiplies eps by decay[k]; later iterations use eps. The solver
  /// does not test convergence while decay applies.
  std::vector<double> decay = {};
  /// The first iterate; zero if not given.
  std::optional<ConstArrayView<D>> x0 = {};
};

/// The proximal gradient method, the common base of Ista and Fista. It minimises
///
///   F(x) = 1/2 |y - A x|² + eps P(S x)
///
/// by steps of length t, x' = Sᴴ T(S (z + t Aᴴ(y - A z))). Without momentum z = x; with momentum, z
/// is extrapolated from the last two iterates. T is the proximal operator of t eps P: it replaces
/// each coefficient u by the c that minimises 1/2 |c - u|² + t eps P(c). T(u) is 0 if |u| is at
/// most the threshold, and otherwise
///
///   P             threshold             T(u)
///   soft |c|      t eps                 (1 - t eps / |u|) u
///   hard [c ≠ 0]  sqrt(2 t eps)         u
///   half sqrt|c|  3/2 (t eps)^(2/3)     2/3 (1 + cos(2/3 (π - φ))) u,
///                                       cos φ = (t eps / 4) (|u| / 3)^(-3/2)
///
/// for real and complex u. `half` is the half thresholding of Xu, Chang, Xu and Zhang. Note the
/// factor 1/2 in F: for |y - A x|² + eps P(S x), pass half of that eps.
///
/// Stops when |x' - x| and |x' - z| are both at most the tolerance, which is relative to |x'|.
/// (Where the momentum reverses, |x' - x| alone is small too early.) The gradient norm is
/// |x' - z| / t, which is 0 at the minimum of F; in a Solution, it is computed with z = x.
///
/// An iteration applies A and Aᴴ once each.
template <Scalar D, Scalar R>
class ProximalGradient : public Solver<D> {
 public:
  /// F(x) for each entry of history(), without decay; P is evaluated at the coefficients T(...)
  /// that x was synthesised from. Checkpoints do not store these values: after resuming from one,
  /// the entries before its last are NaN.
  const std::vector<double>& objective() const;
  /// The current step length t.
  double step_length() const;

 protected:
  enum class Momentum : std::uint8_t { none, nesterov };

  ProximalGradient(const char* name, Momentum momentum, const LinearOperator<D, R>& a,
                   const ConstArrayView<R>& y, const SolverOptions& options,
                   const IstaOptions<D>& ista_options);
};

/// The iterative shrinkage-thresholding algorithm: z = x. F does not increase if S is unitary and
/// t <= 1 / L.
template <Scalar D, Scalar R>
class Ista final : public ProximalGradient<D, R> {
 public:
  /// Copies y, unless it is moved in.
  Ista(const LinearOperator<D, R>& a, DistributedArray<R> y, const SolverOptions& options = {},
       const IstaOptions<D>& ista_options = {})
      : Ista(a, ConstArrayView<R>(std::move(y)), options, ista_options) {}
  /// Reads y through the view; its memory must outlive the solver.
  Ista(const LinearOperator<D, R>& a, const ConstArrayView<R>& y, const SolverOptions& options = {},
       const IstaOptions<D>& ista_options = {})
      : ProximalGradient<D, R>("ista", Ista::Momentum::none, a, y, options, ista_options) {}
};

/// ISTA with the momentum of Beck and Teboulle: z' = x' + (θ - 1) / θ' (x' - x), where
/// θ' = (1 + sqrt(1 + 4 θ²)) / 2, starting from θ = 1.
template <Scalar D, Scalar R>
class Fista final : public ProximalGradient<D, R> {
 public:
  /// Copies y, unless it is moved in.
  Fista(const LinearOperator<D, R>& a, DistributedArray<R> y, const SolverOptions& options = {},
        const IstaOptions<D>& ista_options = {})
      : Fista(a, ConstArrayView<R>(std::move(y)), options, ista_options) {}
  /// Reads y through the view; its memory must outlive the solver.
  Fista(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
        const SolverOptions& options = {}, const IstaOptions<D>& ista_options = {})
      : ProximalGradient<D, R>("fista", Fista::Momentum::nesterov, a, y, options, ista_options) {}
};

/// Runs Ista until it stops.
template <Scalar D, Scalar R>
Solution<D> ista(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                 const SolverOptions& options = {}, const IstaOptions<D>& ista_options = {});
/// Runs Fista until it stops.
template <Scalar D, Scalar R>
Solution<D> fista(const LinearOperator<D, R>& a, const ConstArrayView<R>& y,
                  const SolverOptions& options = {}, const IstaOptions<D>& ista_options = {});

}  // namespace weft
