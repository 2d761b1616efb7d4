#pragma once

#include <atomic>
#include <cstdint>

namespace weft::faults {

/// Which allocations fail.
enum class Failing : int { one, all_from_one };

/// What is known of the allocations of a process, in memory that its parent sees too.
struct Allocations {
  std::atomic<std::int64_t> counted{0};
  std::atomic<std::int64_t> failed{0};
};

/// From now on the n-th allocation of this process fails, or all from the n-th on. Counted are
/// those of this program, of Weft, of the C++ library and of OpenMP, by all threads. OpenMP ends
/// the program where it gets no memory, so that it must not need any: with one thread per rank it
/// does not. Other libraries are left alone.
void fail_allocations(std::int64_t n, Failing which, Allocations& allocations);
void stop_failing_allocations();

}  // namespace weft::faults
