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

namespace detail {
class Checkpoint;
class Progress;
}  // namespace detail

/// Where a solver was when it looked at its norms.
struct SolverStatus {
  index_t iteration = 0;
  double residual_norm = 0;
  double gradient_norm = 0;
  /// Since the solver was made.
  double seconds = 0;
};

/// When to stop, and whom to tell. All ranks pass the same.
struct SolverOptions {
  index_t max_iterations = 100;
  /// On norms, never on their squares; which one, and relative to what, the solver says. Arrays of
  /// single precision do not get far below 1e-6. Iterations do add up squares: norms beyond 1e150,
  /// or below 1e-150, leave the range of numbers.
  double relative_tolerance = 1e-8;
  double absolute_tolerance = 0;
  /// Iterations from one look at the norms to the next. Only then is the solver in the history, are
  /// callbacks called and limits noticed; on a GPU, only then does the host wait for it.
  index_t check_every = 1;
  /// In seconds, since the solver was made.
  double time_limit = std::numeric_limits<double>::infinity();
  /// Rank 0 shows on stderr how it goes.
  bool progress = false;
  /// Called on all ranks after each look, but for the first; all stop if it returns false on one.
  std::function<bool(const SolverStatus&)> callback = {};
  /// A file to leave the state in, and to go on from.
  std::optional<CheckpointOptions> checkpoint = {};
};

enum class StopReason : std::uint8_t {
  running,
  converged,
  iteration_limit,
  time_limit,
  stopped_by_callback,
  /// Of solvers that estimate the condition of the problem.
  condition_limit,
  /// A number that must be positive is not, which tells that an operator is not what it should be.
  breakdown,
  not_finite,
};

std::string_view to_string(StopReason reason);

/// What came of it. After a breakdown, or a number that is not finite, x is the last iterate that
/// came before, as far as the solver could know.
template <Scalar D>
struct Solution {
  DistributedArray<D> x;
  StopReason reason = StopReason::running;
  /// The reason with the numbers that led to it.
  std::string message;
  index_t iterations = 0;
  /// Of x itself; norms in the history are those that iterations carry along.
  double residual_norm = 0;
  double gradient_norm = 0;
  std::vector<SolverStatus> history;
  double seconds = 0;
};

/// Is shown, one by one, what a solver would need to go on from where it is. It may change it all.
/// Names have no line breaks, and nothing that is shown is ever uninitialised.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void visit(std::string_view name, const ArrayView<float>& array) = 0;
  virtual void visit(std::string_view name, const ArrayView<double>& array) = 0;
  virtual void visit(std::string_view name, const ArrayView<std::complex<float>>& array) = 0;
  virtual void visit(std::string_view name, const ArrayView<std::complex<double>>& array) = 0;
  /// Numbers in memory of a device: first `common` that are the same on all ranks, then those that
  /// may differ.
  virtual void visit(std::string_view name, BufferRef numbers, index_t common) = 0;
  virtual void visit(std::string_view name, index_t& number) = 0;
};

/// The loop of all solvers: `while (solver.step()) ...`, or run(). Collective, and all ranks stop
/// in the same iteration; if arrays are `within` groups of ranks, when all groups have converged.
/// All memory is taken when a solver is made, and an iteration allocates nothing.
///
/// A solver derives from Solver<D> below. On a GPU, an iteration that waits for nobody is recorded
/// once and then launched as a whole.
class AnySolver {
 public:
  AnySolver(const AnySolver&) = delete;
  AnySolver& operator=(const AnySolver&) = delete;
  virtual ~AnySolver();

  /// One iteration. False when the solver has stopped, be it after this one or before.
  bool step();
  void run();

  index_t iteration() const { return iteration_; }
  StopReason stop_reason() const { return reason_; }
  const std::string& message() const { return message_; }
  const std::vector<SolverStatus>& history() const { return history_; }
  double seconds() const;
  /// Shows everything that the next iteration depends on and that is not given by the arguments of
  /// the constructor.
  void visit_state(StateVisitor& visitor);

 protected:
  /// What a look at the norms tells.
  struct Check {
    double residual_norm = 0;
    double gradient_norm = 0;
    bool converged = false;
    /// Why to stop though it has not converged.
    StopReason failure = StopReason::running;
    /// What the trouble is, or what has converged if there is more to say than the norms.
    std::string message = {};
  };
  struct Norms {
    double residual = 0;
    double gradient = 0;
  };

  /// Iterations are recorded on a GPU if everything that they apply is `capturable`.
  AnySolver(std::string name, const Layout& domain, const Layout& range,
            const SolverOptions& options, bool capturable);

  /// To be called when everything is ready for the first iteration: looks if there need be one.
  void begin();
  /// Where an array comes from: operators make larger errors than whoever gave it.
  enum class Origin : std::uint8_t { given, computed };
  /// Before begin(): something that iterates depend on, by which a checkpoint knows its problem. So
  /// it does by the state that the solver starts from, as far as that tells.
  void depends_on(std::string_view name, double value);
  template <Scalar T>
  void depends_on(std::string_view name, const ConstArrayView<T>& array,
                  Origin origin = Origin::given);
  const SolverOptions& options() const { return options_; }
  /// The norm at which to stop, where `reference` is what the relative tolerance is relative to.
  double threshold(double reference) const;
  /// Finds trouble, unless there is some already: a number that must be finite and is not, or one
  /// that must be positive until the solver has converged, which means what `otherwise` says.
  void expect_finite(Check& check, std::string_view what, double value) const;
  void expect_positive(Check& check, std::string_view what, double value,
                       std::string_view otherwise) const;

  /// Issues one iteration to the stream: nothing in it waits for the device, and all memory is the
  /// same each time, but for what depends on `parity`, which is 0 and 1 in turn.
  virtual void iterate(int parity) = 0;
  /// Fetches norms from the device.
  virtual Check evaluate() = 0;
  /// Computed from x alone. Collective; leaves the state as it is.
  virtual Norms true_norms() = 0;
  virtual void visit_own_state(StateVisitor& visitor) = 0;
  /// Computes this rank's parts of sums that are yet to be finished. Needed when the state comes
  /// from other ranks, which had other parts of the arrays.
  virtual void restore_partial_sums() {}

 private:
  bool resume();
  void record();
  void check();
  void agree_between_groups(Check& check) const;
  void decide(Check check);
  void agree_on_stop(const SolverStatus& status);
  void stop(StopReason reason, std::string message);

  std::string name_;
  Comm comm_;
  Device device_;
  bool has_groups_;  // of ranks, each with its own copies of the arrays and its own sums
  SolverOptions options_;
  std::chrono::steady_clock::time_point start_;
  index_t iteration_ = 0;
  StopReason reason_ = StopReason::running;
  std::string message_;
  std::vector<SolverStatus> history_;
  std::unique_ptr<detail::Progress> progress_;
  std::unique_ptr<detail::Checkpoint> checkpoint_;
  bool records_;
  bool warmed_up_ = false;       // libraries take memory when they are used first
  std::vector<Graph> recorded_;  // for either parity
};

template <Scalar D>
class Solver : public AnySolver {
 public:
  const DistributedArray<D>& x() const { return x_; }
  /// What has come of it so far, with norms computed anew: collective.
  Solution<D> solution() &;
  /// Takes x along; the solver is of no use afterwards.
  Solution<D> solution() &&;

 protected:
  /// x is where the solver starts: x0, or zero.
  Solver(const std::string& name, const Layout& domain, const Layout& range,
         const std::optional<ConstArrayView<D>>& x0, const SolverOptions& options, bool capturable);

  DistributedArray<D>& own_x() { return x_; }

 private:
  Solution<D> described(DistributedArray<D> x, Norms norms) const;

  DistributedArray<D> x_;
};

}  // namespace weft
