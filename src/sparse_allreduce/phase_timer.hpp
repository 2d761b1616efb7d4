#pragma once

#include <chrono>

namespace weft::detail {

/// Adds the time of its scope to a total. Phases on a GPU are not waited for.
class PhaseTimer {
 public:
  explicit PhaseTimer(double& total) : total_(total) {}
  ~PhaseTimer() { total_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& total_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace weft::detail
