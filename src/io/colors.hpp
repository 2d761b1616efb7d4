#pragma once

#include <weft/io/picture.hpp>

#include "io/png.hpp"

namespace weft::detail {

/// Values use colours 0 to 254: an odd number, so that there is a middle colour.
inline constexpr int color_count = 255;
inline constexpr std::uint8_t color_of_nan = 255;

Palette palette(ColorMap colors);

}  // namespace weft::detail
