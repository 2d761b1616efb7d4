#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/solve/solver.hpp>
#include <weft/solve/threshold.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace weft {

template <Scalar D>
struct IstaOptions {
  /// The weight of the penalty; not negative.
  double eps = 0.1;
  /// Which penalty P it is. With hard and half the function has many local minima: the result
  /// depends on x0, and nothing is known of what fista makes of them.
  Threshold threshold = Threshold::soft;
  /// S, the operator under which x is sparse: unitary, or at least SᴴS = 1 (a tight frame; F is
  /// then approached, but not reached). The identity if not given.
  std::optional<LinearOperator<D>> sparsifier = {};
  /// The step t. If not given, 1 / (1.05 L), where L is the largest eigenvalue of AᴴA as found by
  /// up to 50 power iterations. One that is longer than 1 / L may make iterations diverge.
  std::optional<double> step = {};
  /// Makes the step shorter by a factor of 0.7 as often as |A d|² > |d|² / t, where d is the change
  /// that it makes: 1 / L need not be known. Begins with `step`, or else with |g|² / |A g|² of the
  /// first gradient g, which is at least 1 / L (with 1 if g is 0). Each trial costs one forward,
  /// and the host waits for it.
  bool backtracking = false;
  /// Of fista: forgets the momentum whenever it points uphill, Re<z - x', x' - x> > 0 (the gradient
  /// scheme of O'Donoghue and Candès). Takes no further collective.
  bool restart = true;
  /// In iteration k, from 0 on, eps is multiplied with decay[k], and with 1 when there are no more.
  /// The solver does not converge before.
  std::vector<double> decay = {};
  /// Where to start; zero if not given.
  std::optional<ConstArrayView<D>> x0 = {};
};

/// What Ista and Fista have in common: proximal gradients, which make
///
///   F(x) = 1/2 |y - A x|² + eps P(S x)
///
/// small by steps of length t, x' = Sᴴ T(S (z + t Aᴴ(y - A z))). Here z is x, or with momentum a
/// point beyond it, and T replaces each coefficient u by the number c for which
/// 1/2 |c - u|² + t eps P(c) is least. It is 0 where |u| is at most the threshold, and else
///
///   P             threshold             T(u)
///   soft |c|      t eps                 (1 - t eps / |u|) u
///   hard [c ≠ 0]  sqrt(2 t eps)         u
///   half sqrt|c|  3/2 (t eps)^(2/3)     2/3 (1 + cos(2/3 (π - φ))) u,
///                                       cos φ = (t eps / 4) (|u| / 3)^(-3/2)
///
/// for real and complex u alike. The last is the half thresholding of Xu, Chang, Xu and Zhang. Mind
/// the 1/2 in F: of |y - A x|² + eps P(S x), eps is twice as much.
///
/// Stops when |x' - x| and |x' - z| are both at most the larger of the absolute tolerance and the
/// relative one times |x'|. (Where momentum turns back, the first alone is small too early.) The
/// gradient norm is |x' - z| / t, which is 0 where F is least; that of a Solution is for z = x.
///
/// An iteration applies A and Aᴴ once, to x' and to y - A z, which follows from those of x' and x.
template <Scalar D, Scalar R>
class ProximalGradient : public Solver<D> {
 public:
  ~ProximalGradient() override;

  /// F(x) for each entry of history(), without decay. P is that of the numbers that Sᴴ made x of.
  /// NaN for those before the last one of a checkpoint, which does not have them.
  const std::vector<double>& objective() const { return objective_; }
  /// t, as it was given or found.
  double step_length() const;

 protected:
  enum class Momentum : std::uint8_t { none, nesterov };

  ProximalGradient(const char* name, Momentum momentum, const LinearOperator<D, R>& a,
                   const ConstArrayView<R>& y, const SolverOptions& options,
                   const IstaOptions<D>& ista_options);

 private:
  struct State;
  using typename AnySolver::Check;
  using typename AnySolver::Norms;

  void iterate(int parity) final;
  Check evaluate() final;
  void check_step(Check& check) const;
  void tell_problem();
  Norms true_norms() final;
  void visit_own_state(StateVisitor& visitor) final;

  std::unique_ptr<State> state_;
  std::vector<double> objective_;
};

/// Iterative shrinkage and thresholding: z = x. F never rises, if S is unitary and t at most 1 / L.
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

/// The same with the momentum of Beck and Teboulle, z' = x' + (θ - 1) / θ' (x' - x), where
/// θ' = (1 + sqrt(1 + 4 θ²)) / 2 and θ = 1 in the beginning.
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
