#include "faults/chaos/allocation.hpp"

#include "faults/support/process.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local int countdown = 0;  // 0: off
thread_local std::atomic<std::int64_t>* failure_time = nullptr;

void count_allocation() {
  if (countdown == 0 || --countdown > 0) return;
  failure_time->store(weft::faults::now());
  throw std::bad_alloc();
}

}  // namespace

// Not inline: where GCC sees free through operator delete, it takes it for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count_allocation();
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

namespace weft::chaos {

void fail_allocation(int n, std::atomic<std::int64_t>& failed_at) {
  failure_time = &failed_at;
  countdown = n;
}

void cancel_failing_allocation() { countdown = 0; }

}  // namespace weft::chaos
