#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// A palette picture. The pixels are numbers into the palette, row by row from the top.
struct PngImage {
  int width = 0;
  int height = 0;
  std::vector<std::array<std::uint8_t, 3>> palette;
  std::vector<std::uint8_t> pixels;

  std::uint8_t at(int row, int column) const;
  std::array<std::uint8_t, 3> color(int row, int column) const {
    return palette.at(at(row, column));
  }
};

/// Reads a PNG file of 8-bit palette numbers, checks its sums, and throws if it is not as the
/// standard says.
PngImage read_png(std::string_view bytes);

}  // namespace weft::test
