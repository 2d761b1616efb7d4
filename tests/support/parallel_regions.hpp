#pragma once

#include <functional>

namespace weft::test {

/// Time of processors that a piece of work takes, in seconds: on the thread that does it while no
/// other can help, and in parallel regions of OpenMP on each of two threads.
struct TimeOfThreads {
  double alone = 0;
  double first = 0;
  double second = 0;
};

/// Whether times can be taken: with GCC's OpenMP, whose parallel regions a program can intercept.
bool can_time_threads();

/// As long as it lives, this thread's parallel regions have two threads.
class TwoThreads {
 public:
  TwoThreads();
  ~TwoThreads();
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;

 private:
  int before_ = 1;
};

/// Runs work, on TwoThreads. Call it once before, so that its memory is there.
TimeOfThreads time_of_threads(const std::function<void()>& work);

}  // namespace weft::test
