// Replaces malloc and related functions, and identifies the caller.

#include "faults/memory/malloc.hpp"

#include <link.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

// Exported by the C library, but not declared in its headers.
extern "C" {
void* __libc_malloc(std::size_t bytes);                           // NOLINT
void* __libc_calloc(std::size_t count, std::size_t bytes);        // NOLINT
void* __libc_realloc(void* data, std::size_t bytes);              // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t bytes);  // NOLINT
}

namespace weft::faults {
namespace {

/// Code loaded from one file.
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

std::array<Range, 8> watched;
std::size_t watched_count = 0;
std::atomic<Allocations*> noted = nullptr;
std::int64_t failing_number = 0;
Failing failing_which = Failing::one;

int watch(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view name = info->dlpi_name;
  bool ours = name.empty();
  for (const char* each : {"libweft", "libstdc++", "libgomp"}) {
    ours = ours || name.find(each) != std::string_view::npos;
  }
  if (name.empty() && watched_count > 0) return 0;  // the kernel's page; the program comes first
  for (int i = 0; ours && i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (watched_count == watched.size()) return 0;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    watched[watched_count++] = {begin, begin + segment.p_memsz};
  }
  return 0;
}

bool fails(const void* caller) {
  Allocations* const allocations = noted.load(std::memory_order_acquire);
  if (allocations == nullptr) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  bool ours = false;
  for (std::size_t i = 0; i < watched_count; ++i) {
    ours = ours || (address >= watched[i].begin && address < watched[i].end);
  }
  if (!ours) return false;
  const std::int64_t number = ++allocations->counted;
  const bool failing =
      failing_which == Failing::one ? number == failing_number : number >= failing_number;
  if (!failing) return false;
  ++allocations->failed;
  errno = ENOMEM;
  return true;
}

}  // namespace

void fail_allocations(std::int64_t n, Failing which, Allocations& allocations) {
  dl_iterate_phdr(watch, nullptr);
  failing_number = n;
  failing_which = which;
  noted.store(&allocations, std::memory_order_release);
}

void stop_failing_allocations() { noted = nullptr; }

}  // namespace weft::faults

extern "C" {

void* malloc(std::size_t bytes) {
  return weft::faults::fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  return weft::faults::fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* data, std::size_t bytes) {
  return weft::faults::fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(data, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return weft::faults::fails(__builtin_return_address(0)) ? nullptr
                                                          : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) {
  if (weft::faults::fails(__builtin_return_address(0))) return ENOMEM;
  *data = __libc_memalign(alignment, bytes);
  return *data == nullptr ? ENOMEM : 0;
}

}  // extern "C"
