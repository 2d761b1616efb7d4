#include "io/colors.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::detail {
namespace {

/// A colour in Oklab, a perceptual colour space: lightness from 0 to 1, green to red (a) and blue
/// to yellow (b).
struct Oklab {
  double lightness;
  double a;
  double b;
};

Oklab hue(double lightness, double strength, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  return {lightness, strength * std::cos(angle), strength * std::sin(angle)};
}

Oklab between(const Oklab& from, const Oklab& to, double part) {
  return {std::lerp(from.lightness, to.lightness, part), std::lerp(from.a, to.a, part),
          std::lerp(from.b, to.b, part)};
}

std::uint8_t to_byte(double linear) {
  const double light = std::clamp(linear, 0.0, 1.0);
  const double encoded =
      light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * encoded));
}

/// Oklab to sRGB, by the two matrices that define Oklab.
Rgb to_rgb(const Oklab& color) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(color.lightness + 0.3963377774 * color.a + 0.2158037573 * color.b);
  const double m = cube(color.lightness - 0.1055613458 * color.a - 0.0638541728 * color.b);
  const double s = cube(color.lightness - 0.0894841775 * color.a - 1.2914855480 * color.b);
  return {to_byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          to_byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          to_byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

/// From violet over blue and green to yellow in equal steps of lightness, with the largest chroma
/// in sRGB.
Oklab sequential(double part) {
  const auto cube = [](double x) { return x * x * x; };
  const double strength = 0.085 + 0.04 * cube(1 - part) + 0.09 * cube(part);
  return hue(0.27 + 0.64 * part, strength, 305 - 200 * part);
}

Oklab diverging(double part) {
  const Oklab white{1, 0, 0};
  const double distance = 2 * part - 1;
  const Oklab end = distance < 0 ? hue(0.40, 0.17, 262) : hue(0.46, 0.18, 27);
  return between(white, end, std::abs(distance));
}

Rgb color_at(ColorMap colors, double part) {
  switch (colors) {
    case ColorMap::sequential: return to_rgb(sequential(part));
    case ColorMap::diverging: return to_rgb(diverging(part));
    case ColorMap::gray: break;
  }
  const auto level = static_cast<std::uint8_t>(std::lround(255 * part));
  return {level, level, level};
}

}  // namespace

Palette palette(ColorMap colors) {
  Palette all{};
  for (int i = 0; i < color_count; ++i)
    all[static_cast<std::size_t>(i)] = color_at(colors, static_cast<double>(i) / (color_count - 1));
  all[color_of_nan] = {255, 0, 255};
  return all;
}

}  // namespace weft::detail
