#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft::faults {

/// Nanoseconds of a clock shared by all processes of a machine.
std::int64_t now();

/// How a process ended.
struct Ended {
  bool hung = false;  // and was killed
  int signal = 0;     // that ended it
  int code = 0;
  std::int64_t at = 0;
  std::string output;  // stdout and stderr
};

/// Runs `body` in a new process and ends it after `seconds`; `kill_rest` then kills the processes
/// it has started.
Ended run_process(const std::function<int()>& body, double seconds,
                  const std::function<void()>& kill_rest = {});

}  // namespace weft::faults
