#pragma once

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <cstdlib>

namespace weft::detail {

/// How many threads OpenMP uses for this rank while the object lives. What the user has set is left
/// alone.
class OpenMpThreads {
 public:
#if defined(_OPENMP)
  explicit OpenMpThreads(int threads) {
    if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
    before_ = omp_get_max_threads();
    omp_set_num_threads(threads);
  }
  // Only then: the first setting in a thread takes memory, and OpenMP ends the program without it.
  ~OpenMpThreads() {
    if (before_ > 0) omp_set_num_threads(before_);
  }
#else
  explicit OpenMpThreads(int) {}
#endif
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;
};

}  // namespace weft::detail
