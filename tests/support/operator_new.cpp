#include "support/operator_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local weft::test::AllocationHook hook = nullptr;

}  // namespace

void weft::test::set_allocation_hook(AllocationHook new_hook) { hook = new_hook; }

#if (!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)) || \
    defined(WEFT_REPLACE_SANITIZED_NEW)

// Not inline: GCC warns about free where it sees it through an inlined operator delete.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (hook != nullptr) hook();
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
