#pragma once

#include <weft/core/shape.hpp>

#include <cstddef>
#include <string_view>

namespace weft::detail {

/// Memory of the debug device: pages that fault when accessed without a DebugAccess. Returns
/// nullptr if none is left.
void* debug_allocate(std::size_t bytes);
void debug_release(void* data, std::size_t bytes) noexcept;

// Records the allocation and release of a block for the message of a fault.

void debug_lend(void* data, index_t count, std::size_t element_size) noexcept;
void debug_label(const void* data, std::string_view what) noexcept;
void debug_give_back(void* data) noexcept;

}  // namespace weft::detail
