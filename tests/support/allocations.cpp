#include "support/allocations.hpp"

#include <weft/core/buffer.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

thread_local bool counting = false;
thread_local long long news = 0;

}  // namespace

// Sanitizers have their own, which find more than these would.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_news = false;
#else
constexpr bool counts_news = true;

// Not inline: where GCC sees free through operator delete, it takes it for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (counting) ++news;
  const auto step = static_cast<std::size_t>(alignment);
  void* data = std::aligned_alloc(step, (bytes + step) / step * step);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return operator new(bytes, std::align_val_t(alignof(std::max_align_t)));
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t, std::align_val_t) noexcept {
  std::free(data);
}
#endif

namespace weft::test {
namespace {

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
  news = 0;
  counting = true;
  for (int repeat = 0; repeat < 100; ++repeat) step();
  counting = false;
  comm.barrier();
  EXPECT_EQ(pool_allocations(), before);
  if (counts_news && world() == World::thread) {
    EXPECT_EQ(news, 0);
  }
  comm.barrier();
  comm.check_calls(checked);
}

TEST(Allocations, are_seen) {
  news = 0;
  counting = true;
  ::operator delete(::operator new(8));
  ::operator delete(::operator new(8, std::align_val_t(64)), std::align_val_t(64));
  counting = false;
  EXPECT_EQ(news, counts_news ? 2 : 0);
  const index_t before = memory_stats(Device::cpu()).allocations;
  { const Buffer<double> buffer(3); }
  EXPECT_EQ(memory_stats(Device::cpu()).allocations, before + 1);
}

}  // namespace weft::test
