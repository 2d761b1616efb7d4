#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft::faults {

/// Nanoseconds of a clock that all processes of a machine share.
std::int64_t now();

/// How a process ended.
struct Ended {
  bool hung = false;  // and was killed
  int signal = 0;     // that it died of
  int code = 0;
  std::int64_t at = 0;
  std::string output;  // of both streams
};

/// Runs `body` in a process of its own, and ends it if that takes longer than `seconds`;
/// `kill_rest` then kills what it has started.
Ended run_process(const std::function<int()>& body, double seconds,
                  const std::function<void()>& kill_rest = {});

}  // namespace weft::faults
