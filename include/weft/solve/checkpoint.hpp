#pragma once

#include <weft/core/shape.hpp>

#include <string>

namespace weft {

/// Where and how often a solver saves its state, to resume after the program has ended for any
/// reason. All ranks must pass the same values and have access to the same file system.
///
/// The file is replaced atomically: at any time it is complete, or does not exist yet. It is
/// written in checks (every SolverOptions::check_every iterations) and when the solver stops,
/// except after StopReason::breakdown and not_finite. A solver that resumes on the same ranks with
/// the same layouts continues bitwise as if it had not been interrupted; on other ranks, up to
/// rounding. The constructor of the solver rejects damaged files and files of another problem, and
/// does not change them.
struct CheckpointOptions {
  /// Writing uses a temporary file, `path` + ".partial-" + 16 hexadecimal digits. While a solver
  /// uses the path, `path` + ".lock" is locked: another solver, in any job, gets an error.
  std::string path;
  /// Iterations between checkpoints; 0 to ignore iterations.
  index_t every_iterations = 0;
  /// Seconds between checkpoints, by the clock of rank 0; 0 to ignore time. If both are 0, the
  /// state is saved only when the solver stops.
  double every_seconds = 0;
  /// Resumes from the file if it exists. If false, the solver starts anew, and its first checkpoint
  /// replaces the file.
  bool resume = true;
};

}  // namespace weft
