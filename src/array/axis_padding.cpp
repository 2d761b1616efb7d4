#include <weft/array/axis_padding.hpp>

#include <fmt/core.h>

namespace weft {

std::string to_string(const AxisPadding& padding) {
  return fmt::format("{{{}, {}}}", padding.before, padding.after);
}

}  // namespace weft
