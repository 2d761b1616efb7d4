#pragma once

#include <cstddef>

namespace weft::detail {

/// Memory of the debug device: pages that fault when touched, except while a DebugAccess lives.
/// Returns nullptr when there is none left.
void* debug_allocate(std::size_t bytes);
void debug_release(void* data, std::size_t bytes) noexcept;

}  // namespace weft::detail
