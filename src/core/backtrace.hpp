#pragma once

// Call stacks, where the C library has them.

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif

namespace weft::detail {

#if __has_include(<execinfo.h>)

inline int take_backtrace(void** frames, int most) noexcept { return backtrace(frames, most); }
/// Takes no memory from the heap, as a signal handler must not.
inline void print_backtrace(void* const* frames, int count, int file) noexcept {
  backtrace_symbols_fd(frames, count, file);
}

#else

inline int take_backtrace(void**, int) noexcept { return 0; }
inline void print_backtrace(void* const*, int, int) noexcept {}

#endif

}  // namespace weft::detail
