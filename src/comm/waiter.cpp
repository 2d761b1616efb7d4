#include "comm/waiter.hpp"

#include "core/environment.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace weft::detail {

bool Waiter::pause() {
  ++step_;
  if (step_ <= spins) {
    relax();
    return step_ % 64 == 0;
  }
  if (!started_) {
    started_ = true;
    start_ = std::chrono::steady_clock::now();
  }
  if (step_ <= spins + yields) {
    // With more ranks than cores, checks at every turn would delay those that have work to do.
    std::this_thread::yield();
    return step_ % 4 == 0;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  return true;
}

std::chrono::duration<double> wait_limit() { return settings().timeout; }

int available_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
  // A machine with more cores than the set can hold.
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace weft::detail
