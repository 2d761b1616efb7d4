#pragma once

#include <cstdint>

namespace weft {

/// Which neighbours a difference is taken of.
enum class DerivativeKind : std::uint8_t { centered, forward, backward };

}  // namespace weft
