#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// A palette picture. Pixels are palette indices, row by row from the top.
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

/// Decodes a PNG file with a palette. Throws if libpng rejects it.
PngImage read_png(std::string_view bytes);

}  // namespace weft::test
