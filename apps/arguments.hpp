#pragma once

// Checks of arguments that CLI11 does not make.

#include <weft/core/shape.hpp>

#include <string>
#include <vector>

namespace weft::app {

/// Refuses an empty argument, and `--name=` with nothing behind it: CLI11 takes the next argument
/// as its value.
void require_values(const std::vector<std::string>& arguments);

/// The parts of "a,b,c". Refuses an empty one; `option` is for the message.
std::vector<std::string> split_list(const std::string& option, const std::string& text);

/// The extents in "32,96,160", each at least `smallest`.
std::vector<index_t> parse_shape(const std::string& option, const std::string& text,
                                 index_t smallest);

/// Refuses a name that looks like an option: its own value is missing.
void require_file_name(const std::string& option, const std::string& name);

}  // namespace weft::app
