#pragma once

#include <chrono>

namespace weft::detail {

/// How to wait for another thread: spin for as long as an answer usually takes, then let others
/// run, then sleep. With more ranks than cores spinning would only keep the peer from its core.
class Waiter {
 public:
  explicit Waiter(bool oversubscribed) : step_(oversubscribed ? spins : 0) {}

  /// One pause. Returns true now and then, when slow checks (failure, time limit) are due.
  bool pause();
  std::chrono::duration<double> waited() const {
    return started_ ? std::chrono::steady_clock::now() - start_
                    : std::chrono::steady_clock::duration::zero();
  }

 private:
  static constexpr int spins = 200;     // about 10 us
  static constexpr int yields = 20000;  // about 10 ms

  int step_;
  bool started_ = false;
  std::chrono::steady_clock::time_point start_;
};

/// The longest a rank waits for others (WEFT_TIMEOUT in seconds; default 300).
std::chrono::duration<double> wait_limit();

/// Cores this process may run on.
int available_cores();

}  // namespace weft::detail
