#include <weft/io/picture.hpp>

#include <weft/core/error.hpp>
#include <weft/io/replace_file.hpp>

#include "core/option_checks.hpp"
#include "io/colors.hpp"
#include "io/png.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace weft {
namespace {

constexpr index_t target_width = 300;
constexpr index_t largest_height = 1200;
constexpr index_t most_pixels = index_t{1} << 30;
constexpr index_t longest_side = 1'000'000;  // libpng's default limit

/// The integer factor that makes a picture target_width wide, unless it gets too high.
index_t enlargement(index_t rows, index_t columns) {
  const index_t wanted = (target_width + columns - 1) / columns;
  return std::max<index_t>(1, std::min(wanted, largest_height / rows));
}

void check_limits(const Limits& limits, ColorMap colors, const char* who) {
  require(std::isfinite(limits.low) && std::isfinite(limits.high) && limits.low < limits.high,
          "{}: limits must be finite with low < high, got {} and {}", who, limits.low, limits.high);
  require(colors != ColorMap::diverging || limits.low == -limits.high,
          "{}: limits of a diverging colour map must be -a and a, got {} and {}", who, limits.low,
          limits.high);
}

/// The limits of a picture; `who` is the function that errors name.
Limits limits_of(std::span<const double> values, const PictureOptions& options, const char* who) {
  detail::require_enumerator(options.colors, ColorMap::gray, who, "ColorMap");
  if (options.limits) {
    check_limits(*options.limits, options.colors, who);
    return *options.limits;
  }
  Limits limits{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    limits.low = std::min(limits.low, value);
    limits.high = std::max(limits.high, value);
  }
  const bool diverging = options.colors == ColorMap::diverging;
  if (limits.low > limits.high) limits = diverging ? Limits{-1, 1} : Limits{0, 1};
  if (diverging) {
    const double largest = std::max(-limits.low, limits.high);
    return largest > 0 ? Limits{-largest, largest} : Limits{-1, 1};
  }
  if (limits.low < limits.high) return limits;
  // A single value gets the middle colour, unless the limits around it overflow.
  using Double = std::numeric_limits<double>;
  const double value = limits.low;
  const double around = value == 0 ? 1 : std::max(std::abs(value) / 2, Double::min());
  return {std::max(value - around, Double::lowest()), std::min(value + around, Double::max())};
}

std::uint8_t color_of(double value, const Limits& limits) {
  if (std::isnan(value)) return detail::color_of_nan;
  const double inside = std::clamp(value, limits.low, limits.high);
  // high - low may overflow; half of it does not.
  const double scale = std::isfinite(limits.high - limits.low) ? 1 : 0.5;
  const double part =
      (scale * inside - scale * limits.low) / (scale * limits.high - scale * limits.low);
  return static_cast<std::uint8_t>(std::lround(part * (detail::color_count - 1)));
}

std::vector<std::uint8_t> enlarged(const std::vector<std::uint8_t>& pixels, index_t columns,
                                   index_t factor) {
  std::vector<std::uint8_t> result;
  result.reserve(pixels.size() * static_cast<std::size_t>(factor * factor));
  for (auto row = pixels.begin(); row != pixels.end(); row += columns) {
    for (index_t copy = 0; copy < factor; ++copy) {
      for (auto pixel = row; pixel != row + columns; ++pixel)
        result.insert(result.end(), static_cast<std::size_t>(factor), *pixel);
    }
  }
  return result;
}

}  // namespace

Limits picture_limits(std::span<const double> values, const PictureOptions& options) {
  return limits_of(values, options, "picture_limits");
}

std::string png_picture(std::span<const double> values, index_t rows, index_t columns,
                        const PictureOptions& options) {
  require(rows > 0 && columns > 0 && rows <= longest_side && columns <= longest_side &&
              rows <= most_pixels / columns,
          "png_picture: rows and columns must be from 1 to {}, with at most 2^30 values, got {} "
          "rows of {} columns",
          longest_side, rows, columns);
  require(static_cast<index_t>(values.size()) == rows * columns,
          "png_picture: {} values given for {} rows of {} columns", values.size(), rows, columns);
  const Limits limits = limits_of(values, options, "png_picture");
  std::vector<std::uint8_t> pixels(values.size());
  std::transform(values.begin(), values.end(), pixels.begin(),
                 [&](double value) { return color_of(value, limits); });
  const index_t factor = enlargement(rows, columns);
  return detail::encode_png(enlarged(pixels, columns, factor), columns * factor, rows * factor,
                            detail::palette(options.colors));
}

void write_png(const std::string& path, std::span<const double> values, index_t rows,
               index_t columns, const PictureOptions& options) {
  replace_file(path, png_picture(values, rows, columns, options));
}

}  // namespace weft
