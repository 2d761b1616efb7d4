#pragma once

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <cstdlib>

namespace weft::detail {

/// Sets the number of OpenMP threads of this rank for its lifetime, unless OMP_NUM_THREADS is set.
class OpenMpThreads {
 public:
#if defined(_OPENMP)
  explicit OpenMpThreads(int threads) {
    if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
    before_ = omp_get_max_threads();
    omp_set_num_threads(threads);
  }
  // Only if it was set: the first call in a thread allocates, and OpenMP aborts without memory.
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
