#pragma once

// The interface between the loop that all solvers share and the recurrence of one solver. Needed to
// write a solver, not to use one.

#include <weft/solve/solver.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// What a recurrence finds when it reads its norms.
struct SolverCheck {
  double residual_norm = 0;
  double gradient_norm = 0;
  bool converged = false;
  /// Why the solver must stop without having converged; `running` if it need not.
  StopReason failure = StopReason::running;
  /// Describes the failure, or the convergence if there is more to say than the norms.
  std::string message = {};
};

struct SolverNorms {
  double residual = 0;
  double gradient = 0;
};

/// The arrays and scalars of a solver, and what an iteration does to them. Limits, callbacks, the
/// history, graphs and checkpoints are left to AnySolver, which owns the recurrence. The
/// constructor allocates all memory and computes what the first iteration needs.
class AnyRecurrence {
 public:
  AnyRecurrence(const AnyRecurrence&) = delete;
  AnyRecurrence& operator=(const AnyRecurrence&) = delete;
  virtual ~AnyRecurrence() = default;

  /// Enqueues one iteration on the stream. Does not block and does not allocate. `parity`
  /// alternates between 0 and 1; calls of the same parity use the same memory, so that they can be
  /// recorded.
  virtual void iterate(int parity) = 0;
  /// Reads the norms from the device.
  virtual SolverCheck evaluate() = 0;
  /// Computes the norms from x. Collective; does not change the state.
  virtual SolverNorms true_norms() = 0;
  /// Visits x and everything else that the next iteration reads and that the constructor does not
  /// recreate.
  virtual void visit_state(StateVisitor& visitor) = 0;
  /// Recomputes this rank's part of sums that are not reduced yet. Called after the state was
  /// restored from a checkpoint with a different partition of the arrays.
  virtual void restore_partial_sums() {}

 protected:
  explicit AnyRecurrence(AnySolver& solver) : solver_(solver) {}

  const AnySolver& solver() const { return solver_; }
  index_t iteration() const { return solver_.iteration(); }
  const SolverOptions& options() const { return solver_.options_; }
  /// The norm at which to stop; the relative tolerance is relative to `reference`.
  double threshold(double reference) const;

  /// Whether an array was passed by the caller or computed by operators, which adds rounding
  /// errors.
  enum class Origin : std::uint8_t { given, computed };
  /// Declares that the iterates depend on this value. A checkpoint identifies its problem by these
  /// values and by the initial state. To be called in the constructor.
  void depends_on(std::string_view name, double value);
  template <Scalar T>
  void depends_on(std::string_view name, const ConstArrayView<T>& array,
                  Origin origin = Origin::given);

  /// Records a failure, unless one is already recorded, if the value is not finite.
  void expect_finite(SolverCheck& check, std::string_view what, double value) const;
  /// The same if the value is not finite, or not positive although the solver has not converged;
  /// `cause` says what that implies.
  void expect_positive(SolverCheck& check, std::string_view what, double value,
                       std::string_view cause) const;

 private:
  AnySolver& solver_;
};

/// The recurrence of a Solver<D>.
template <Scalar D>
class Recurrence : public AnyRecurrence {
 protected:
  explicit Recurrence(Solver<D>& solver) : AnyRecurrence(solver), x(solver.x_) {}

  DistributedArray<D>& x;  // the current iterate, which the solver owns
};

}  // namespace weft
