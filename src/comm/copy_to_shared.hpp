#pragma once

#include <cstddef>
#include <cstring>

namespace weft::detail {

/// Copies to memory that peers have read since it was last written. Their caches still hold it, and
/// an ordinary store fetches each line from there before it writes, which takes up to three times
/// as long as a string instruction: that knows that it overwrites whole lines. Sanitizers do not
/// see what instructions in assembly access.
inline void copy_to_shared(std::byte* to, const void* from, std::size_t bytes) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr std::size_t shortest = 512;  // starting the instruction takes tens of cycles
  if (bytes >= shortest) {
    void* target = to;
    asm volatile("rep movsb" : "+D"(target), "+S"(from), "+c"(bytes) : : "memory");
    return;
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace weft::detail
