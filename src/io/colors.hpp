#pragma once

#include <weft/io/picture.hpp>

#include "io/png.hpp"

namespace weft::detail {

/// Numbers get the colours from 0 on: an odd count, so that there is one in the middle.
inline constexpr int color_count = 255;
inline constexpr std::uint8_t color_of_nan = 255;

Palette palette(ColorMap colors);

}  // namespace weft::detail
