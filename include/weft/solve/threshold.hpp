#pragma once

#include <cstdint>

namespace weft {

/// How numbers c are made few or small: by the penalty P that is put on them.
enum class Threshold : std::uint8_t {
  soft,  // the sum of |c|
  hard,  // the number of c that are not 0
  half,  // the sum of sqrt|c|
};

}  // namespace weft
