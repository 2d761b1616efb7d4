#include "support/allocations.hpp"

#include <weft/core/buffer.hpp>

#include "support/operator_new.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <new>

namespace weft::test {
namespace {

thread_local long long news = 0;

/// Counts the calls of operator new on this thread for its lifetime.
class CountNews {
 public:
  CountNews() {
    news = 0;
    set_allocation_hook([] { ++news; });
  }
  ~CountNews() { set_allocation_hook(nullptr); }
  CountNews(const CountNews&) = delete;
  CountNews& operator=(const CountNews&) = delete;
};

index_t pool_allocations() {
  return memory_stats(Device::cpu()).allocations + memory_stats(other_device()).allocations;
}

}  // namespace

void expect_no_allocation(const Comm& comm, const std::function<void()>& step) {
  const bool checked = comm.checks_calls();
  comm.check_calls(false);
  for (int warm_up = 0; warm_up < 2; ++warm_up) step();
  comm.barrier();
  const index_t before = pool_allocations();
  comm.barrier();
  {
    const CountNews counting;
    for (int repeat = 0; repeat < 100; ++repeat) step();
  }
  comm.barrier();
  EXPECT_EQ(pool_allocations(), before);
  if (replaces_operator_new && world() == World::thread) {
    EXPECT_EQ(news, 0);
  }
  comm.barrier();
  comm.check_calls(checked);
}

TEST(Allocations, are_counted) {
  {
    const CountNews counting;
    ::operator delete(::operator new(8));
    ::operator delete(::operator new(8, std::align_val_t(64)), std::align_val_t(64));
  }
  EXPECT_EQ(news, replaces_operator_new ? 2 : 0);
  const index_t before = memory_stats(Device::cpu()).allocations;
  { const Buffer<double> buffer(3); }
  EXPECT_EQ(memory_stats(Device::cpu()).allocations, before + 1);
}

}  // namespace weft::test
