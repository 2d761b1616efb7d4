#include "arguments.hpp"

#include <weft/core/error.hpp>

#include <algorithm>
#include <charconv>

namespace weft::app {

void require_values(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") return;
    require(!argument.empty(), "argument {}{} is empty", i + 1,
            i == 0 ? "" : ", after " + arguments[i - 1] + ",");
    const bool ends_in_equals = argument.find('=') == argument.size() - 1;
    require(!argument.starts_with('-') || !ends_in_equals, "{} needs a value after the '='",
            argument);
  }
}

std::vector<std::string> split_list(const std::string& option, const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    require(end > begin, "{} {}: the list has an empty entry", option, text);
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<index_t> parse_shape(const std::string& option, const std::string& text,
                                 index_t smallest) {
  std::vector<index_t> extents;
  for (const std::string& part : split_list(option, text)) {
    index_t extent = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, extent);
    require(error == std::errc() && stop == end && extent >= smallest,
            "{} {}: extents must be whole numbers of at least {}, got '{}'", option, text, smallest,
            part);
    extents.push_back(extent);
  }
  require(std::ssize(extents) <= max_dims, "{} {}: at most {} extents are allowed, got {}", option,
          text, max_dims, extents.size());
  static_cast<void>(Shape(Index(extents)));  // refuses shapes whose element count overflows
  return extents;
}

void require_file_name(const std::string& option, const std::string& name) {
  require(!name.starts_with('-'), "{} needs a file name, got '{}'; write ./{} if that is its name",
          option, name, name);
}

}  // namespace weft::app
