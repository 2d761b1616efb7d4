#pragma once

#include <string>
#include <string_view>

namespace weft::detail {

/// Text as it must be written between tags and in quotes.
std::string escaped(std::string_view text);
std::string base64(std::string_view bytes);
/// A number for readers: four digits.
std::string short_number(double value);

}  // namespace weft::detail
