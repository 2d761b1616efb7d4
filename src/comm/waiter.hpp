#pragma once

#include <chrono>

namespace weft::detail {

/// A moment, without giving up the processor.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits for another thread: spins for the usual response time, then yields, then sleeps. With more
/// ranks than cores it does not spin, which would keep the peer from running.
class Waiter {
 public:
  explicit Waiter(bool oversubscribed) : step_(oversubscribed ? spins : 0) {}

  /// Pauses once. Returns true when slow checks (failure, time limit) are due.
  bool pause();
  std::chrono::duration<double> waited() const {
    return started_ ? std::chrono::steady_clock::now() - start_
                    : std::chrono::steady_clock::duration::zero();
  }

 private:
  static constexpr int spins = 200;     // about 10 us; set with allreduce_bench
  static constexpr int yields = 20000;  // about 10 ms

  int step_;
  bool started_ = false;
  std::chrono::steady_clock::time_point start_;
};

/// The longest a rank waits for others (WEFT_TIMEOUT in seconds; default 300).
std::chrono::duration<double> wait_limit();

/// The number of cores this process may run on.
int available_cores();

}  // namespace weft::detail
