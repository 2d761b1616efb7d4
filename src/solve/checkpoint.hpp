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

/// The checkpoints of one solver: knows when one is due, writes it, and goes on from one. All
/// calls are collective.
class Checkpoint {
 public:
  /// `has_groups`: of ranks, each with its own copies of arrays, for which there is no place in a
  /// file.
  Checkpoint(std::string solver, Comm comm, CheckpointOptions options, bool has_groups);

  /// Something that iterates depend on, by which the problem is recognised.
  void depends_on(std::string_view name, double value);
  template <Scalar T>
  void depends_on(std::string_view name, const ConstArrayView<T>& array, bool by_operators);

  struct Resumed {
    std::vector<SolverStatus> history;
    /// The arrays were dealt out to ranks in another way, so that parts of sums are not right.
    bool was_elsewhere = false;
  };
  /// To be called with the state that a solver starts from. Puts the state of the file in its
  /// place, if there is one to go on from. From here on, other jobs and solvers cannot use the
  /// path.
  std::optional<Resumed> begin(AnySolver& solver);
  /// Writes a checkpoint if it is time for one; releases the path if the solver has stopped.
  void after_check(AnySolver& solver);
  /// Others may use the path from now on; not collective.
  void release();

 private:
  bool is_due(index_t iteration) const;
  /// True if there is a checkpoint to go on from.
  bool lock();
  CheckpointHeader describe(AnySolver& solver) const;
  void save(AnySolver& solver);
  Resumed restore(AnySolver& solver) const;

  std::string solver_;
  Comm comm_;
  CheckpointOptions options_;
  std::optional<FileLock> lock_;  // on rank 0
  std::string path_;              // of the checkpoint to go on from, without symbolic links
  std::vector<Fact> facts_;
  index_t last_iteration_ = 0;
  std::chrono::steady_clock::time_point last_time_;
};

}  // namespace weft::detail
