#pragma once

#include <weft/solve/solver.hpp>

#include <chrono>
#include <string>

namespace weft::detail {

/// Prints the progress of a solver to stderr: on a terminal as one line that is updated, otherwise
/// as a line every few seconds.
class Progress {
 public:
  Progress(std::string name, index_t max_iterations);

  /// This run resumes from `iteration`, `seconds` after its start.
  void resume_from(index_t iteration, double seconds);
  void show(const SolverStatus& status);
  void finish(const SolverStatus& status, const std::string& message);

 private:
  std::string line(const SolverStatus& status) const;

  std::string name_;
  index_t max_iterations_;
  bool on_terminal_;
  index_t first_iteration_ = 0;
  double first_seconds_ = 0;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace weft::detail
