#pragma once

#include <weft/core/shape.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

using Rgb = std::array<std::uint8_t, 3>;
using Palette = std::array<Rgb, 256>;

/// A PNG file of 8-bit numbers into a palette, given row by row from the top.
std::string encode_png(std::span<const std::uint8_t> pixels, index_t width, index_t height,
                       const Palette& palette);

}  // namespace weft::detail
