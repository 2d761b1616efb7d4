#pragma once

#include <atomic>
#include <cstdint>

namespace weft::chaos {

/// Makes the n-th allocation of this thread from now on fail, once, and stores the time of failure
/// in `failed_at`.
void fail_allocation(int n, std::atomic<std::int64_t>& failed_at);
void cancel_failing_allocation();

}  // namespace weft::chaos
