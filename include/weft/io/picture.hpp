#pragma once

#include <weft/core/shape.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weft {

enum class ColorMap : std::uint8_t {
  /// Dark violet over green to yellow; a larger number is always lighter.
  sequential,
  /// Blue for negative numbers, white for zero, red for positive ones.
  diverging,
  /// Black to white.
  gray,
};

/// An interval of numbers.
struct Limits {
  double low = 0;
  double high = 1;

  friend bool operator==(const Limits&, const Limits&) = default;
};

struct PictureOptions {
  ColorMap colors = ColorMap::sequential;
  /// The numbers that get the first and the last colour; beyond them colours do not change. Taken
  /// from the data unless given; for diverging colours, symmetric about zero.
  std::optional<Limits> limits = std::nullopt;
};

/// The limits that a picture of these values has. Infinite values and NaN do not count.
Limits picture_limits(std::span<const double> values, const PictureOptions& options = {});

/// A PNG file with one square for each number, the first row on top. NaN is drawn in magenta, which
/// no colour map has. Small arrays are enlarged by a whole factor, to about 300 pixels in width.
std::string png_picture(std::span<const double> values, index_t rows, index_t columns,
                        const PictureOptions& options = {});
void write_png(const std::string& path, std::span<const double> values, index_t rows,
               index_t columns, const PictureOptions& options = {});

}  // namespace weft
