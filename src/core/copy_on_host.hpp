#pragma once

#include <cstddef>

namespace weft::detail {

/// memcpy; large copies use all threads of this rank.
void copy_on_host(void* to, const void* from, std::size_t bytes);

}  // namespace weft::detail
