#pragma once

#include <weft/solve/checkpoint.hpp>
#include <weft/solve/solver.hpp>

#include "io/file_lock.hpp"
#include "solve/checkpoint_header.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

/// The checkpoints of one solver: decides when one is due, saves it, and restores it. All calls are
/// collective unless stated otherwise.
class Checkpoint {
 public:
  /// Throws if `has_groups`: groups of ranks have their own arrays, which the file format does not
  /// support.
  Checkpoint(std::string solver, Comm comm, CheckpointOptions options, bool has_groups);

  /// Adds a value that identifies the problem. `is_computed` allows for the rounding errors of
  /// operators.
  void depends_on(std::string_view name, double value);
  template <Scalar T>
  void depends_on(std::string_view name, const ConstArrayView<T>& array, bool is_computed);

  struct Resumed {
    std::vector<SolverStatus> history;
    /// The arrays had another partition, so that partial sums must be recomputed.
    bool is_repartitioned = false;
  };
  /// To be called with the initial state of the solver. Locks the path against other solvers and
  /// jobs. If there is a file to resume from, replaces the state with the saved one.
  std::optional<Resumed> begin(AnySolver& solver);
  /// Saves a checkpoint if one is due; releases the path if the solver has stopped.
  void after_check(AnySolver& solver);
  /// Releases the lock on the path. Not collective.
  void release();

 private:
  bool is_due(index_t iteration) const;
  /// Locks the path. True if there is a checkpoint to resume from.
  bool lock();
  CheckpointHeader describe(AnySolver& solver) const;
  void save(AnySolver& solver);
  Resumed restore(AnySolver& solver) const;

  std::string solver_;
  Comm comm_;
  CheckpointOptions options_;
  std::optional<FileLock> lock_;  // on rank 0
  std::string path_;              // of the checkpoint to resume from, without symbolic links
  std::vector<Property> properties_;
  index_t last_iteration_ = 0;
  std::chrono::steady_clock::time_point last_time_;
};

}  // namespace weft::detail
