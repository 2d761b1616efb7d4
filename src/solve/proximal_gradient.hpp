#pragma once

#include <weft/solve/ista.hpp>
#include <weft/solve/recurrence.hpp>

#include "solve/power_steps.hpp"
#include "solve/proximal_steps.hpp"

#include <array>
#include <optional>
#include <vector>

namespace weft::detail {

/// The recurrence of Ista and Fista. With x, z = x, r = rz = y - A x and theta = 1 at the start, an
/// iteration is
///
///   x'     = Sᴴ T(S (z + t Aᴴrz))
///   r'     = y - A x'
///   theta' = (1 + sqrt(1 + 4 theta²)) / 2
///   m      = (theta - 1) / theta'
///   z      = x' + m (x' - x)
///   rz     = r' + m (r' - r)
///   x      = x',  r = r',  theta = theta'
///
/// with one reduction. A restart sets theta' = 1 and m = 0. Without momentum, x and r take the
/// place of z and rz. With backtracking, x' and r' are recomputed with a smaller t until
/// t |A d|² <= |d|², where d = x' - z.
template <Scalar D, Scalar R>
struct ProximalGradientRecurrence final : Recurrence<D> {
  // Slots: |r' - rz|², |r'|², |x' - x|², |x'|², |x' - z|², Re<z - x', x' - x>, P. Those over the
  // range come first, then those over the domain. The last two are theta and m. See
  // solve/scalars.hpp; there is a single bank, as no sum of the last iteration is needed.
  enum Slot : int { ad, rr, dx, xx, dz, restart_test, penalty, theta, momentum, slot_count };
  static constexpr int domain_sums = 4;
  using Sums = std::array<double, slot_count>;

  ProximalGradientRecurrence(Solver<D>& solver, const LinearOperator<D, R>& the_operator,
                             const ConstArrayView<R>& data, bool with_momentum,
                             const IstaOptions<D>& ista_options);

  void iterate(int parity) override;
  SolverCheck evaluate() override;
  SolverNorms true_norms() override;
  void visit_state(StateVisitor& visitor) override;

  bool has_momentum() const { return z.has_value(); }
  const DistributedArray<D>& start_point() const { return z ? *z : x; }
  const DistributedArray<R>& start_residual() const { return rz ? *rz : r; }
  SumInto over_range(Slot slot) { return {scalars, range, slot}; }
  SumInto over_domain(Slot slot) { return {scalars, domain, slot}; }
  SumInto over_coefficients(Slot slot) { return {scalars, coefficients, slot}; }
  Sums read_sums() const;

  /// Whether iteration k has an eps of its own.
  bool decays(index_t k) const { return k < std::ssize(settings.decay); }
  double eps(index_t k) const {
    return settings.eps * (decays(k) ? settings.decay[static_cast<std::size_t>(k)] : 1.0);
  }

  double initial_step();
  double step_from_power_iteration();
  double step_from_gradient();
  void register_dependencies();

  void step_and_shrink_from(const ConstArrayView<D>& start, double weight);
  void take_step(double weight);
  void backtrack(double eps_now);
  bool is_too_long();
  void advance();

  void sum_changes();
  void sum_penalty_of_x();
  void finish_sums();
  void check_step(SolverCheck& check) const;

  using Recurrence<D>::x;
  LinearOperator<D, R> a;
  IstaOptions<D> settings;
  ConstArrayView<R> y;
  DistributedArray<D> next;               // Aᴴ rz, and then x'
  DistributedArray<R> r;                  // y - A x
  DistributedArray<R> q;                  // y - A x'
  std::optional<DistributedArray<D>> z;   // where the step starts; without momentum, in x
  std::optional<DistributedArray<R>> rz;  // y - A z
  std::optional<DistributedArray<D>> c;   // S x'
  std::optional<DistributedArray<D>> g;   // Aᴴ rz, kept while backtracking
  SumSpace range;
  SumSpace domain;
  SumSpace coefficients;
  Scalars scalars;
  double step = 1;    // t
  double y_norm = 0;  // bounds the rounding errors in backtracking
  bool backtracking_failed = false;
  // Of the power iterations that determined the step, if any did.
  PowerOutcome power_outcome = PowerOutcome::converged;
  index_t power_iterations = 0;
  std::vector<double> objective;  // one value per check
};

}  // namespace weft::detail
