#pragma once

#include <weft/core/shape.hpp>

#include <string>

namespace weft {

/// Where and how often a solver leaves its state, so that it can go on from there after the program
/// has ended, for whatever reason. All ranks pass the same, and see the same file system.
///
/// The file is replaced as a whole: at any moment there is a complete one, or none before the
/// first. It is written when the norms are looked at (every SolverOptions::check_every iterations),
/// and when the solver stops, but for a breakdown or a number that is not finite. From it, a solver
/// on the same ranks with the same layouts goes on bit by bit as if nothing had happened; on other
/// ranks, up to rounding. Files of another problem, and damaged ones, are refused by the
/// constructor of the solver and left as they are.
struct CheckpointOptions {
  /// While it is written, a temporary file `path` + ".partial-" + 16 hexadecimal digits is there,
  /// too; while a solver uses it, `path` + ".lock". A second solver that uses it at the same time,
  /// in whatever job, gets an error.
  std::string path;
  /// Iterations from one to the next; 0 if they do not matter.
  index_t every_iterations = 0;
  /// Seconds from one to the next, by the clock of rank 0; 0 if they do not matter. If neither
  /// matters, the state is written only when the solver stops.
  double every_seconds = 0;
  /// Goes on from the file if there is one. Else it is replaced when the first one is due.
  bool resume = true;
};

}  // namespace weft
