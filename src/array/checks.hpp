#pragma once

#include <weft/array/layout.hpp>
#include <weft/core/error.hpp>

namespace weft::detail {

/// Throws unless two arrays have equal layouts; the error says how they differ.
inline void require_equal(const Layout& a, const Layout& b, const char* where) {
  if (a == b) return;
  require(a.comm() == b.comm(), "{}: the arrays are on different communicators", where);
  require(a.device() == b.device(), "{}: one array is on {}, the other on {}", where,
          to_string(a.device()), to_string(b.device()));
  refuse(
      "{}: the layouts differ: {}; {}. Use redistribute() to convert one to the layout of the "
      "other",
      where, to_string(a), to_string(b));
}

}  // namespace weft::detail
