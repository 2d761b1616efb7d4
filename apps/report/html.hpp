#pragma once

#include <string>
#include <string_view>

namespace weft::app {

/// Text with the special characters of HTML escaped, for elements and attributes.
std::string escaped(std::string_view text);
std::string base64(std::string_view bytes);
/// A number with four significant digits.
std::string short_number(double value);

}  // namespace weft::app
