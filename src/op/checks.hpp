#pragma once

#include <weft/array/layout.hpp>
#include <weft/core/error.hpp>

#include <fmt/core.h>

#include <string>

namespace weft::detail {

/// The text "<one> <a>, but <other> <b>" of errors about layouts that should be equal.
inline std::string difference(const std::string& one, const Layout& a, const std::string& other,
                              const Layout& b) {
  return fmt::format("{} {}, but {} {}{}", one, to_string(a), other, to_string(b),
                     a.comm() == b.comm() ? "" : ", on another communicator");
}

}  // namespace weft::detail
