#pragma once

#include <weft/core/shape.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace weft::detail {

using Rgb = std::array<std::uint8_t, 3>;
using Palette = std::array<Rgb, 256>;

/// A PNG file of 8-bit palette indices, row by row from the top. Throws if Weft was built without
/// libpng.
std::string encode_png(std::span<const std::uint8_t> pixels, index_t width, index_t height,
                       const Palette& palette);

}  // namespace weft::detail
