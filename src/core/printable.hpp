#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::detail {

/// Untrusted bytes (of a file, an argument) for a message: printable ASCII is kept, other bytes
/// become \xNN, and "..." replaces what exceeds `most` characters.
std::string printable(std::string_view bytes, std::size_t most = 60);

}  // namespace weft::detail
