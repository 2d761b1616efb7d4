#include <weft/io/picture.hpp>

#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace weft::test {

TEST(NoPng, pictures_name_the_missing_library) {
  const std::vector<double> values(6);
  EXPECT_THROW(png_picture(values, 2, 4), ArgumentError);
  try {
    png_picture(values, 2, 3);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("libpng-dev"), std::string::npos) << error.what();
  }
}

}  // namespace weft::test
