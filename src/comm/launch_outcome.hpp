#pragma once

#include "comm/launch_checks.hpp"

#include <exception>
#include <string>
#include <vector>

namespace weft::detail {

// Exit codes of the program.
inline constexpr int error_code = 1;
inline constexpr int usage_code = 2;

/// Prints one line to stderr.
void print_error(const std::string& text);

/// Which processes of a job see an error before any rank runs.
enum class ErrorScope {
  /// All of them: an error in the arguments.
  job,
  /// Perhaps only this one: an error in its environment or machine.
  process,
};

/// Prints why the program does not start, once for all processes if possible, and returns its exit
/// code.
int usage_error(const Task& task, const std::string& error, ErrorScope scope = ErrorScope::job);

/// How the launched function ended on a rank.
struct Outcome {
  bool failed = false;
  /// It ended because another rank had failed.
  bool aborted = false;
  /// All ranks threw the same AgreedError.
  bool agreed = false;
  /// The rank that the message is about.
  int rank = 0;
  int code = 0;
  std::string message;
};

/// The outcome of a rank whose exception is being handled.
Outcome outcome_of(int rank);
Outcome outcome_of(int rank, const std::exception_ptr& error);

/// Prints the error of the run once, if there is one, and returns the exit code of the program.
/// `first` is the rank that failed first, or negative.
int conclude(const std::vector<Outcome>& outcomes, int first);

}  // namespace weft::detail
