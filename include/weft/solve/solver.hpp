#pragma once

#include <weft/array/distributed_array.hpp>
#include <weft/comm/comm.hpp>
#include <weft/core/graph.hpp>
#include <weft/solve/checkpoint.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class AnyRecurrence;
template <Scalar D>
class Recurrence;
struct SolverCheck;

namespace detail {
class Checkpoint;
class Progress;
}  // namespace detail

/// The result of one check of a solver, as it appears in the history.
struct SolverStatus {
  index_t iteration = 0;
  double residual_norm = 0;
  double gradient_norm = 0;
  /// Since the solver was constructed.
  double seconds = 0;
};

/// Stopping criteria and reporting. All ranks must pass the same values.
struct SolverOptions {
  index_t max_iterations = 100;
  /// Tolerances apply to norms, never to squared norms. Each solver documents which norm it tests,
  /// and what the relative tolerance refers to. Arrays in single precision rarely get below 1e-6.
  /// Norms are computed from sums of squares in double precision, so norms above 1e150 overflow and
  /// norms below 1e-150 underflow.
  double relative_tolerance = 1e-8;
  double absolute_tolerance = 0;
  /// Iterations between two checks. A check reads the norms, appends them to the history, calls the
  /// callback and tests the limits. On a GPU, the host blocks only in checks.
  index_t check_every = 1;
  /// In seconds since the solver was constructed.
  double time_limit = std::numeric_limits<double>::infinity();
  /// Rank 0 prints the progress to stderr.
  bool progress = false;
  /// Called on all ranks in each check except the first. If it returns false on one rank, all ranks
  /// stop.
  std::function<bool(const SolverStatus&)> callback = {};
  /// Saves the state to a file, and resumes from it.
  std::optional<CheckpointOptions> checkpoint = {};
};

enum class StopReason : std::uint8_t {
  running,
  converged,
  iteration_limit,
  time_limit,
  stopped_by_callback,
  /// The estimated condition number exceeds the limit. Only for solvers that estimate it.
  condition_limit,
  /// A quantity that must be positive is not: an operator violates the solver's assumptions.
  breakdown,
  /// A norm or a coefficient is NaN or infinite.
  not_finite,
};

std::string_view to_string(StopReason reason);

/// The result of a solve. If the reason is `breakdown` or `not_finite`, x is the last iterate
/// before the solver detected the failure.
template <Scalar D>
struct Solution {
  DistributedArray<D> x;
  StopReason reason = StopReason::running;
  /// The reason and the values that led to it.
  std::string message;
  index_t iterations = 0;
  /// Computed from x. The norms in the history come from the recurrences and differ by rounding.
  double residual_norm = 0;
  double gradient_norm = 0;
  std::vector<SolverStatus> history;
  double seconds = 0;
};

/// Visits the state that a solver needs to resume, and may overwrite it. Names contain no line
/// breaks, and all values are initialised.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void visit(std::string_view name, const ArrayView<float>& array) = 0;
  virtual void visit(std::string_view name, const ArrayView<double>& array) = 0;
  virtual void visit(std::string_view name, const ArrayView<std::complex<float>>& array) = 0;
  virtual void visit(std::string_view name, const ArrayView<std::complex<double>>& array) = 0;
  /// Scalars in device memory. The first `common` of them are the same on all ranks; the others may
  /// differ.
  virtual void visit(std::string_view name, BufferRef numbers, index_t common) = 0;
  virtual void visit(std::string_view name, index_t& number) = 0;
};

/// The loop that all solvers share: `while (solver.step()) ...`, or run(). Collective: all ranks
/// stop in the same iteration. If arrays are `within` groups of ranks, the solver stops when all
/// groups have converged. The constructor allocates all memory; iterations allocate none.
///
/// Solvers derive from Solver<D> below and implement AnyRecurrence (weft/solve/recurrence.hpp).
class AnySolver {
 public:
  AnySolver(const AnySolver&) = delete;
  AnySolver& operator=(const AnySolver&) = delete;
  virtual ~AnySolver();

  /// Runs one iteration. Returns false if the solver has stopped, in this iteration or before.
  bool step();
  /// Iterates until the solver stops.
  void run();

  index_t iteration() const { return iteration_; }
  StopReason stop_reason() const { return reason_; }
  const std::string& message() const { return message_; }
  /// One entry per check.
  const std::vector<SolverStatus>& history() const { return history_; }
  /// Since the solver was constructed.
  double seconds() const;
  /// Visits everything that the next iteration depends on and that the arguments of the constructor
  /// do not determine.
  void visit_state(StateVisitor& visitor);

 protected:
  /// If the operators of an iteration are `capturable`, the iteration is recorded as a graph on a
  /// GPU, and launched as a whole.
  AnySolver(std::string name, const Layout& domain, const Layout& range,
            const SolverOptions& options, bool capturable);

  /// Takes the recurrence, ready for its first iteration. Resumes from a checkpoint if there is
  /// one; otherwise does the first check.
  void start(std::unique_ptr<AnyRecurrence> recurrence);
  AnyRecurrence& recurrence() { return *recurrence_; }
  const AnyRecurrence& recurrence() const { return *recurrence_; }

 private:
  friend AnyRecurrence;

  bool resume();
  void record();
  void check();
  void agree_between_groups(SolverCheck& check) const;
  void decide(SolverCheck check);
  void agree_on_stop(const SolverStatus& status);
  void stop(StopReason reason, std::string message);

  std::string name_;
  Comm comm_;
  Device device_;
  bool has_groups_;  // groups of ranks have their own arrays and their own sums
  SolverOptions options_;
  std::chrono::steady_clock::time_point start_;
  index_t iteration_ = 0;
  StopReason reason_ = StopReason::running;
  std::string message_;
  std::vector<SolverStatus> history_;
  std::unique_ptr<AnyRecurrence> recurrence_;
  std::unique_ptr<detail::Progress> progress_;
  std::unique_ptr<detail::Checkpoint> checkpoint_;
  bool records_;
  bool warmed_up_ = false;       // libraries allocate memory on first use
  std::vector<Graph> recorded_;  // one graph per parity
};

/// A solver for x with elements of type D.
template <Scalar D>
class Solver : public AnySolver {
 public:
  /// The current iterate.
  const DistributedArray<D>& x() const { return x_; }
  /// The current iterate and its norms, computed from x. Collective.
  Solution<D> solution() &;
  /// Moves x out; the solver must not be used afterwards.
  Solution<D> solution() &&;

 protected:
  /// The first iterate is x0, or zero.
  Solver(const std::string& name, const Layout& domain, const Layout& range,
         const std::optional<ConstArrayView<D>>& x0, const SolverOptions& options, bool capturable);

 private:
  friend Recurrence<D>;

  Solution<D> make_solution(DistributedArray<D> x, double residual_norm,
                            double gradient_norm) const;

  DistributedArray<D> x_;
};

}  // namespace weft
