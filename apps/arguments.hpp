#pragma once

// Argument checks that CLI11 does not make.

#include <weft/core/shape.hpp>

#include <string>
#include <vector>

namespace weft::app {

/// Refuses an empty argument, and `--name=` without a value, for which CLI11 would take the next
/// argument.
void require_values(const std::vector<std::string>& arguments);

/// The entries of "a,b,c". Refuses empty ones; error messages begin with `option`.
std::vector<std::string> split_list(const std::string& option, const std::string& text);

/// The extents in "32,96,160", each at least `smallest`.
std::vector<index_t> parse_shape(const std::string& option, const std::string& text,
                                 index_t smallest);

/// Refuses a name that looks like an option, since the value is probably missing.
void require_file_name(const std::string& option, const std::string& name);

}  // namespace weft::app
