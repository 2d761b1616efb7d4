#include "io/quoted.hpp"

#include <fmt/format.h>

namespace weft::detail {

std::string quoted(std::string_view bytes, std::size_t most) {
  std::string text;
  for (const char byte : bytes) {
    const bool printable = byte >= ' ' && byte <= '~' && byte != '\\';
    const std::string next = printable ? std::string(1, byte)
                                       : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    if (text.size() + next.size() > most) return text + "...";
    text += next;
  }
  return text;
}

}  // namespace weft::detail
