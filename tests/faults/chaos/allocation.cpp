#include "faults/chaos/allocation.hpp"

#include "faults/support/process.hpp"
#include "support/operator_new.hpp"

#include <new>

namespace weft::chaos {
namespace {

thread_local int countdown = 0;
thread_local std::atomic<std::int64_t>* failure_time = nullptr;

void count_allocation() {
  if (--countdown > 0) return;
  test::set_allocation_hook(nullptr);
  failure_time->store(faults::now());
  throw std::bad_alloc();
}

}  // namespace

void fail_allocation(int n, std::atomic<std::int64_t>& failed_at) {
  failure_time = &failed_at;
  countdown = n;
  test::set_allocation_hook(count_allocation);
}

void cancel_failing_allocation() { test::set_allocation_hook(nullptr); }

}  // namespace weft::chaos
