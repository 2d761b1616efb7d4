#pragma once

#include <weft/core/shape.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weft {

enum class ColorMap : std::uint8_t {
  /// Dark violet over green to yellow, with increasing lightness.
  sequential,
  /// Blue for negative values, white for zero, red for positive values.
  diverging,
  /// Black to white.
  gray,
};

/// The interval [low, high].
struct Limits {
  double low = 0;
  double high = 1;

  friend bool operator==(const Limits&, const Limits&) = default;
};

struct PictureOptions {
  ColorMap colors = ColorMap::sequential;
  /// The values of the first and the last colour; values outside are clamped. By default, the range
  /// of the data, symmetric about zero for diverging colours.
  std::optional<Limits> limits = std::nullopt;
};

/// The limits of a picture of these values. Ignores infinite values and NaN.
Limits picture_limits(std::span<const double> values, const PictureOptions& options = {});

/// A PNG file with one square per value, the first row on top. NaN is magenta, which no colour map
/// contains. Small arrays are enlarged by an integer factor to about 300 pixels in width. Throws if
/// Weft was built without libpng.
std::string png_picture(std::span<const double> values, index_t rows, index_t columns,
                        const PictureOptions& options = {});
/// Writes png_picture() to a file, completely or not at all.
void write_png(const std::string& path, std::span<const double> values, index_t rows,
               index_t columns, const PictureOptions& options = {});

}  // namespace weft
