#pragma once

#include <cstddef>

namespace weft::detail {

/// An axis, rank or part as an index into a standard container.
constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace weft::detail
