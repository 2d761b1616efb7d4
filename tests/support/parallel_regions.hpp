#pragma once

#include <functional>

namespace weft::test {

/// Processor time of a piece of work in seconds: serial, and in OpenMP parallel regions on each of
/// two threads.
struct TimeOfThreads {
  double alone = 0;
  double first = 0;
  double second = 0;
};

/// Whether times can be measured: only GCC's OpenMP lets a program intercept parallel regions.
bool can_time_threads();

/// Gives parallel regions of this thread two threads for its lifetime.
class TwoThreads {
 public:
  TwoThreads();
  ~TwoThreads();
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;

 private:
  int before_ = 1;
};

/// Measures work on TwoThreads. Run it once before, so that its memory is allocated.
TimeOfThreads time_of_threads(const std::function<void()>& work);

}  // namespace weft::test
