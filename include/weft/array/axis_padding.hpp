#pragma once

#include <weft/core/shape.hpp>

#include <string>

namespace weft {

/// The number of elements added before and after an array along one axis.
struct AxisPadding {
  index_t before = 0;
  index_t after = 0;

  friend bool operator==(const AxisPadding&, const AxisPadding&) = default;
};

/// {before, after}
std::string to_string(const AxisPadding& padding);

}  // namespace weft
