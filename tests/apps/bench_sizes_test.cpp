#include "bench/sizes.hpp"

#include <weft/core/error.hpp>

#include <gtest/gtest.h>

namespace {

using namespace weft;
using namespace weft::bench;

TEST(BenchSizes, are_read_with_suffixes) {
  EXPECT_EQ(parse_bytes("8"), 8);
  EXPECT_EQ(parse_bytes("64K"), 65536);
  EXPECT_EQ(parse_bytes("64k"), 65536);
  EXPECT_EQ(parse_bytes("128M"), index_t{128} << 20);
  EXPECT_EQ(parse_bytes("2G"), index_t{2} << 30);
}

TEST(BenchSizes, refuse_invalid_texts) {
  for (const char* bad : {"", "K", "8Q", "8KB", "-8", "0", "0K", "1.5M", "99999999999999999999",
                          "9999999999999G", " 8", "8 "}) {
    EXPECT_THROW(parse_bytes(bad), ArgumentError) << bad;
  }
}

TEST(BenchSizes, are_formatted_exactly) {
  for (const char* text : {"1", "1000", "64K", "3M", "2G"}) {
    EXPECT_EQ(bytes_text(parse_bytes(text)), text);
  }
}

TEST(BenchSizes, grow_by_a_factor_up_to_the_largest) {
  EXPECT_EQ(sweep(8, 64, 2), (std::vector<index_t>{8, 16, 32, 64}));
  EXPECT_EQ(sweep(8, 63, 2), (std::vector<index_t>{8, 16, 32}));
  EXPECT_EQ(sweep(5, 5, 10), (std::vector<index_t>{5}));
  EXPECT_EQ(sweep(1, parse_bytes("1G"), 1024).size(), 4U);
}

TEST(BenchSizes, refuse_factors_that_do_not_grow) {
  EXPECT_THROW(sweep(0, 8, 2), ArgumentError);
  EXPECT_THROW(sweep(8, 4, 2), ArgumentError);
  EXPECT_THROW(sweep(8, 16, 1), ArgumentError);
  EXPECT_THROW(sweep(8, 16, -2), ArgumentError);
}

}  // namespace
