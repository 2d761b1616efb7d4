#pragma once

#include <atomic>
#include <cstdint>

namespace weft::faults {

/// Which allocations fail.
enum class Failing : int { one, all_from_one };

/// Counts of the allocations of a process, in memory shared with its parent.
struct Allocations {
  std::atomic<std::int64_t> counted{0};
  std::atomic<std::int64_t> failed{0};
};

/// From now on the n-th allocation of this process fails, or all from the n-th on. Allocations of
/// this program, Weft, the C++ library and OpenMP count, on all threads; those of other libraries
/// do not. OpenMP aborts the program without memory; with one thread per rank it does not allocate.
void fail_allocations(std::int64_t n, Failing which, Allocations& allocations);
void stop_failing_allocations();

}  // namespace weft::faults
