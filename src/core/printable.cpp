#include "core/printable.hpp"

#include <fmt/format.h>

namespace weft::detail {

std::string printable(std::string_view bytes, std::size_t most) {
  std::string text;
  for (const char byte : bytes) {
    const bool is_plain = byte >= ' ' && byte <= '~' && byte != '\\';
    const std::string next = is_plain ? std::string(1, byte)
                                      : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    if (text.size() + next.size() > most) return text + "...";
    text += next;
  }
  return text;
}

}  // namespace weft::detail
