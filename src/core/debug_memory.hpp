#pragma once

#include <weft/core/shape.hpp>

#include <cstddef>
#include <string_view>

namespace weft::detail {

/// Memory of the debug device: pages that fault when touched, except while a DebugAccess lives.
/// Returns nullptr when there is none left.
void* debug_allocate(std::size_t bytes);
void debug_release(void* data, std::size_t bytes) noexcept;

// For the message of a fault: who has a block now, what for, and that nobody has it any more.

void debug_lend(void* data, index_t count, std::size_t element_size) noexcept;
void debug_label(const void* data, std::string_view what) noexcept;
void debug_give_back(void* data) noexcept;

}  // namespace weft::detail
