#include "support/parallel_regions.hpp"

#if defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__)

#include <dlfcn.h>
#include <omp.h>

#include <array>
#include <ctime>

namespace {

using Body = void (*)(void*);

double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Time of the thread under test in parallel regions: including waits, and the work of each thread
/// without them.
struct Recorder {
  double inside = 0;
  std::array<double, 2> shares{};
};
thread_local Recorder* recorder = nullptr;

struct Region {
  Body body;
  void* data;
  std::array<double, 2> shares{};
};

void run_timed(void* region) {
  auto& mine = *static_cast<Region*>(region);
  const double start = processor_time();
  mine.body(mine.data);
  const int thread = omp_get_thread_num();
  if (thread < 2) mine.shares[static_cast<std::size_t>(thread)] = processor_time() - start;
}

}  // namespace

/// Replaces the function of libgomp that GCC calls for "omp parallel".
extern "C" void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  using Function = void (*)(Body, void*, unsigned, unsigned);
  static const auto original = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "GOMP_parallel"));
  if (recorder == nullptr) {
    original(body, data, threads, flags);
    return;
  }
  Region region{body, data};
  const double start = processor_time();
  original(run_timed, &region, threads, flags);
  recorder->inside += processor_time() - start;
  for (std::size_t i = 0; i < 2; ++i) recorder->shares[i] += region.shares[i];
}

namespace weft::test {

bool can_time_threads() { return true; }

TwoThreads::TwoThreads() : before_(omp_get_max_threads()) { omp_set_num_threads(2); }
TwoThreads::~TwoThreads() { omp_set_num_threads(before_); }

TimeOfThreads time_of_threads(const std::function<void()>& work) {
  Recorder mine;
  recorder = &mine;
  const double start = processor_time();
  work();
  const double total = processor_time() - start;
  recorder = nullptr;
  return {total - mine.inside, mine.shares[0], mine.shares[1]};
}

}  // namespace weft::test

#else

namespace weft::test {

bool can_time_threads() { return false; }
TwoThreads::TwoThreads() = default;
TwoThreads::~TwoThreads() = default;
TimeOfThreads time_of_threads(const std::function<void()>&) { return {}; }

}  // namespace weft::test

#endif
