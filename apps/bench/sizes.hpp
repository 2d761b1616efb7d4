#pragma once

#include <weft/core/shape.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weft::bench {

/// Reads "8", "64K", "128M" or "2G", in powers of 1024. Throws ArgumentError if it is none of these
/// or zero.
index_t parse_bytes(std::string_view text);

/// The inverse, without rounding: 65536 is "64K", 1000 is "1000".
std::string bytes_text(index_t bytes);

/// The sizes min, min * factor, min * factor^2, ... up to `max`. Throws ArgumentError if `min` is
/// not positive, `max` is less than `min` or `factor` is less than 2.
std::vector<index_t> sweep(index_t min, index_t max, index_t factor);

}  // namespace weft::bench
