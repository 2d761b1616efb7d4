#pragma once

#include <cstdint>

namespace weft {

/// The direction of finite differences.
enum class DerivativeKind : std::uint8_t { centered, forward, backward };

}  // namespace weft
