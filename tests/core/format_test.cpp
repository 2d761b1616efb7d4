#include <weft/core/format.hpp>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <vector>

namespace weft::test {

TEST(Format, gives_the_same_as_to_string) {
  const Shape shape{3, 4};
  const Box box{{0, 5}, {2, 3}};
  EXPECT_EQ(fmt::format("{}", shape), "(3, 4)");
  EXPECT_EQ(fmt::format("{}", Index{1}), "(1)");
  EXPECT_EQ(fmt::format("{}", Shape{}), "()");
  EXPECT_EQ(fmt::format("{}", box), "(2, 3) at (0, 5)");
  EXPECT_EQ(fmt::format("{} {}", Device::cpu(), Device::cuda(1)), "cpu cuda:1");
  EXPECT_EQ(fmt::format("{}", DeviceKind::debug), "debug");
  EXPECT_EQ(fmt::format("{}", DType::c64), "c64");
  EXPECT_EQ(fmt::format("{}", CpuLevel::v3), to_string(CpuLevel::v3));
}

TEST(Format, works_in_lists) {
  const std::vector<DType> dtypes = {DType::f32, DType::i8};
  EXPECT_EQ(fmt::format("{}", fmt::join(dtypes, ", ")), "f32, i8");
}

}  // namespace weft::test
