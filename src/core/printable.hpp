#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::detail {

/// Bytes of unknown origin (a file, an argument) as a message may show them: printable ASCII as it
/// is, other bytes as \xNN, and "..." in place of what exceeds `most` characters.
std::string printable(std::string_view bytes, std::size_t most = 60);

}  // namespace weft::detail
