#pragma once

#include <weft/comm/format.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <utility>

namespace weft {

/// Prints on rank 0.
template <class... Args>
void print(const Comm& comm, fmt::format_string<Args...> format, Args&&... args) {
  if (comm.rank() != 0) return;
  fmt::print(format, std::forward<Args>(args)...);
  std::fflush(stdout);
}

}  // namespace weft
