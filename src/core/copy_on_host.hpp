#pragma once

#include <cstddef>

namespace weft::detail {

/// memcpy, by all threads of this rank if it is worth it.
void copy_on_host(void* to, const void* from, std::size_t bytes);

}  // namespace weft::detail
