#include <weft/io/picture.hpp>

#include <weft/core/error.hpp>

#include "io/folder.hpp"
#include "io/png_reader.hpp"
#include "support/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace weft::test {
namespace {

using Color = std::array<std::uint8_t, 3>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::denorm_min();

PngImage draw(const std::vector<double>& values, index_t rows, index_t columns,
              const PictureOptions& options = {}) {
  return read_png(png_picture(values, rows, columns, options));
}

/// Perceived brightness from 0 to 1.
double brightness(const Color& color) {
  const auto light = [](std::uint8_t byte) { return std::pow(byte / 255.0, 2.2); };
  return 0.2126 * light(color[0]) + 0.7152 * light(color[1]) + 0.0722 * light(color[2]);
}

std::vector<Color> all_colors(ColorMap colors) {
  std::vector<double> values;
  for (int i = -127; i <= 127; ++i) values.push_back(i);
  const PngImage image = draw(values, 1, 255, {colors});
  const int size = image.width / 255;
  std::vector<Color> seen;
  for (int i = 0; i < 255; ++i) seen.push_back(image.color(0, i * size));
  return seen;
}

}  // namespace

TEST(Picture, every_value_is_a_square) {
  std::vector<double> values;
  for (int i = 0; i < 7 * 11; ++i) values.push_back((i * 37) % 255);
  const PngImage image = draw(values, 7, 11, {ColorMap::gray, Limits{0, 254}});
  EXPECT_EQ(image.width, 28 * 11);
  EXPECT_EQ(image.height, 28 * 7);
  for (int row = 0; row < image.height; ++row) {
    for (int column = 0; column < image.width; ++column) {
      const auto expected =
          static_cast<std::uint8_t>(values[static_cast<std::size_t>(row / 28 * 11 + column / 28)]);
      ASSERT_EQ(image.at(row, column), expected) << row << ", " << column;
    }
  }
}

TEST(Picture, keeps_every_pixel) {
  // Rows with runs of every length from 1 to 640.
  const index_t columns = 700;
  std::vector<double> values;
  for (int run = 1; run <= 640; ++run) {
    for (int i = 0; i < columns; ++i) values.push_back((i / run * 91 + run) % 255);
  }
  const PngImage image = draw(values, 640, columns, {ColorMap::gray, Limits{0, 254}});
  ASSERT_EQ(image.pixels.size(), values.size());
  EXPECT_TRUE(std::equal(values.begin(), values.end(), image.pixels.begin()));
}

TEST(Picture, areas_of_one_color_compress_well) {
  EXPECT_LT(png_picture(std::vector<double>(1000 * 1000), 1000, 1000).size(), 12000U);
}

TEST(Picture, sizes) {
  const auto size = [](index_t rows, index_t columns) {
    const std::vector<double> values(static_cast<std::size_t>(rows * columns));
    const PngImage image = draw(values, rows, columns);
    return std::pair(image.height, image.width);
  };
  EXPECT_EQ(size(1, 1), std::pair(300, 300));
  EXPECT_EQ(size(2, 299), std::pair(4, 598));
  EXPECT_EQ(size(2, 300), std::pair(2, 300));
  EXPECT_EQ(size(1, 1000), std::pair(1, 1000));
  EXPECT_EQ(size(100, 1), std::pair(1200, 12));  // not 30000 high
  EXPECT_EQ(size(5000, 2), std::pair(5000, 2));
}

TEST(Picture, limits) {
  const std::vector<double> values = {-2, nan, 6, infinity, -infinity};
  EXPECT_EQ(picture_limits(values), (Limits{-2, 6}));
  EXPECT_EQ(picture_limits(values, {ColorMap::diverging}), (Limits{-6, 6}));
  EXPECT_EQ(picture_limits(values, {ColorMap::gray, Limits{0, 1}}), (Limits{0, 1}));
  EXPECT_EQ(picture_limits(std::vector<double>{nan}), (Limits{0, 1}));
  EXPECT_EQ(picture_limits({}, {ColorMap::diverging}), (Limits{-1, 1}));
  EXPECT_EQ(picture_limits(std::vector<double>{0, 0}, {ColorMap::diverging}), (Limits{-1, 1}));
  EXPECT_EQ(picture_limits(std::vector<double>{4, 4}), (Limits{2, 6}));
  EXPECT_EQ(picture_limits(std::vector<double>{0}), (Limits{-1, 1}));

  const PngImage image =
      draw({-5, 0, 0.5, 1, 7, infinity, -infinity, nan}, 1, 8, {ColorMap::gray, Limits{0, 1}});
  const int size = image.width / 8;
  const std::vector<int> expected = {0, 0, 127, 254, 254, 254, 0, 255};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(image.at(0, i * size), expected[std::size_t(i)]) << i;
}

TEST(Picture, extreme_numbers) {
  const PngImage wide = draw({-largest, 0, largest}, 1, 3);
  EXPECT_EQ(wide.at(0, 0), 0);
  EXPECT_EQ(wide.at(0, 100), 127);
  EXPECT_EQ(wide.at(0, 200), 254);
  const PngImage narrow = draw({0, smallest}, 1, 2);
  EXPECT_EQ(narrow.at(0, 0), 0);
  EXPECT_EQ(narrow.at(0, 150), 254);
  EXPECT_EQ(draw({smallest}, 1, 1).at(0, 0), 127);
  EXPECT_LT(draw({largest}, 1, 1).at(0, 0), 255);
}

TEST(Picture, sequential_colors_become_brighter) {
  for (const ColorMap colors : {ColorMap::sequential, ColorMap::gray}) {
    const std::vector<Color> seen = all_colors(colors);
    for (std::size_t i = 1; i < seen.size(); ++i) {
      // Channels are rounded to multiples of 1/255.
      EXPECT_GT(brightness(seen[i]), brightness(seen[i - 1]) - 0.002) << i;
      EXPECT_GT(brightness(seen[i]), brightness(seen[i < 4 ? 0 : i - 4])) << i;
    }
  }
}

TEST(Picture, diverging_colors_are_blue_white_and_red) {
  const std::vector<Color> seen = all_colors(ColorMap::diverging);
  EXPECT_EQ(seen[127], (Color{255, 255, 255}));
  EXPECT_GT(seen.front()[2], 2 * seen.front()[0]);
  EXPECT_GT(seen.back()[0], 2 * seen.back()[2]);
  for (std::size_t i = 4; i <= 127; ++i) {
    EXPECT_GT(brightness(seen[i]), brightness(seen[i - 4])) << i;
    EXPECT_GT(brightness(seen[254 - i]), brightness(seen[258 - i])) << i;
  }
}

TEST(Picture, nan_has_a_color_of_its_own) {
  for (const ColorMap colors : {ColorMap::sequential, ColorMap::diverging, ColorMap::gray}) {
    const PngImage image = draw({nan, 1}, 1, 2, {colors});
    EXPECT_EQ(image.color(0, 0), (Color{255, 0, 255}));
    for (const Color& color : all_colors(colors)) {
      int distance = 0;
      for (std::size_t i = 0; i < 3; ++i) distance += std::abs(color[i] - image.color(0, 0)[i]);
      EXPECT_GT(distance, 100);
    }
  }
}

TEST(Picture, bad_arguments) {
  const std::vector<double> six(6);
  EXPECT_THROW(png_picture(six, 2, 4), ArgumentError);
  EXPECT_THROW(png_picture({}, 0, 3), ArgumentError);
  EXPECT_THROW(png_picture(std::vector<double>(1'000'001), 1, 1'000'001), ArgumentError);
  EXPECT_THROW(png_picture({}, 3, 0), ArgumentError);
  EXPECT_THROW(png_picture(six, -2, -3), ArgumentError);
  EXPECT_THROW(png_picture(six, index_t{1} << 40, index_t{1} << 40), ArgumentError);
  EXPECT_THROW(png_picture(six, 2, 3, {ColorMap::gray, Limits{1, 1}}), ArgumentError);
  EXPECT_THROW(png_picture(six, 2, 3, {ColorMap::gray, Limits{nan, 1}}), ArgumentError);
  EXPECT_THROW(png_picture(six, 2, 3, {ColorMap::gray, Limits{0, infinity}}), ArgumentError);
  EXPECT_THROW(png_picture(six, 2, 3, {ColorMap::diverging, Limits{0, 1}}), ArgumentError);
  EXPECT_THROW(png_picture(six, 2, 3, {static_cast<ColorMap>(3)}), ArgumentError);

  const Comm comm = Comm::self();
  const PictureOptions bad[] = {{ColorMap::gray, Limits{1, 1}},
                                {ColorMap::diverging, Limits{0, 1}},
                                {static_cast<ColorMap>(3)}};
  for (const PictureOptions& options : bad) {
    expect_error(comm, {"png_picture: "}, [&] { png_picture(six, 2, 3, options); });
    expect_error(comm, {"picture_limits: "}, [&] { picture_limits(six, options); });
  }
}

TEST(Picture, files) {
  in_folder(Comm::self(), [](const std::string& folder) {
    const std::vector<double> values = {1, 2, 3, 4, 5, 6};
    write_png(folder + "/x.png", values, 2, 3);
    EXPECT_EQ(content_of(folder + "/x.png"), png_picture(values, 2, 3));
    EXPECT_THROW(write_png(folder + "/none/x.png", values, 2, 3), Error);
  });
}

}  // namespace weft::test
