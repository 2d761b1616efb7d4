#pragma once

#include "comm/launch_checks.hpp"

#include <exception>
#include <string>
#include <vector>

namespace weft::detail {

// Exit codes of the program.
inline constexpr int error_code = 1;
inline constexpr int usage_code = 2;

/// Prints a line of its own.
void print_error(const std::string& text);

/// What a process that does not begin at all may complain of.
enum class Complaint {
  /// The arguments, which all processes have.
  of_all,
  /// Its environment or its machine, which may be another's alone.
  of_one,
};

/// Says why the program does not begin, once for all processes if possible, and returns its exit
/// code.
int usage_error(const Task& task, const std::string& complaint, Complaint kind = Complaint::of_all);

/// How a rank left the function that was launched.
struct Outcome {
  bool failed = false;
  /// It left because another rank had failed.
  bool aborted = false;
  /// All ranks have heard the complaint.
  bool agreed = false;
  /// The rank that the message is about.
  int rank = 0;
  int code = 0;
  std::string message;
};

/// Of the exception that is being handled.
Outcome outcome_of(int rank);
Outcome outcome_of(int rank, const std::exception_ptr& error);

/// Says once what went wrong, if anything did, and returns the exit code of the program. `first` is
/// the rank that failed first, or negative.
int conclude(const std::vector<Outcome>& outcomes, int first);

}  // namespace weft::detail
