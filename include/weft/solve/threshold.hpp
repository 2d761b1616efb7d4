#pragma once

#include <cstdint>

namespace weft {

/// The thresholding rule, named after its penalty P(c).
enum class Threshold : std::uint8_t {
  soft,  // P = sum of |c|
  hard,  // P = number of nonzero c
  half,  // P = sum of sqrt|c|
};

}  // namespace weft
