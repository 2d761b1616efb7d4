#pragma once

// Tables of WEFT_TABLE: JSON such as
//
//   {"format": "weft allreduce table", "version": 1, "rows": [
//     {"place": "process", "ranks": 2, "up_to": 496, "algorithm": "inline"},
//     {"place": "process", "ranks": 2, "up_to": null, "algorithm": "one_shot"}]}

#include "comm/allreduce_table.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// Throws ArgumentError, which names the file, the row and what is allowed.
std::vector<AllreduceLimit> read_allreduce_limits(const std::string& path);

/// The same for the contents of a file, which the error does not name.
std::vector<AllreduceLimit> parse_allreduce_limits(std::string_view text);

/// The contents of a file with these limits.
std::string allreduce_limits_text(std::span<const AllreduceLimit> limits);

}  // namespace weft::detail
