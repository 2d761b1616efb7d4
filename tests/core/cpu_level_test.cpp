#include <weft/core/cpu_level.hpp>
#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::test {
namespace {

const std::vector<CpuLevel> two = {CpuLevel::v2, CpuLevel::v3};
const std::vector<CpuLevel> three = {CpuLevel::v2, CpuLevel::v3, CpuLevel::v4};

template <class E>
void expect_error(const std::string& words, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "no error with '" << words << "'";
  } catch (const E& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(CpuLevel, is_the_highest_of_build_and_processor) {
  EXPECT_EQ(detail::choose_level(CpuLevel::any, two, CpuLevel::v2), CpuLevel::v2);
  EXPECT_EQ(detail::choose_level(CpuLevel::any, two, CpuLevel::v3), CpuLevel::v3);
  EXPECT_EQ(detail::choose_level(CpuLevel::any, two, CpuLevel::v4), CpuLevel::v3);
  EXPECT_EQ(detail::choose_level(CpuLevel::any, three, CpuLevel::v4), CpuLevel::v4);
  EXPECT_EQ(detail::choose_level(CpuLevel::any, {}, CpuLevel::v4), CpuLevel::any);
  EXPECT_EQ(detail::choose_level(CpuLevel::any, {}, CpuLevel::any), CpuLevel::any);
}

TEST(CpuLevel, can_be_lowered) {
  EXPECT_EQ(detail::choose_level(CpuLevel::v2, three, CpuLevel::v4), CpuLevel::v2);
  EXPECT_EQ(detail::choose_level(CpuLevel::v3, three, CpuLevel::v4), CpuLevel::v3);
}

TEST(CpuLevel, must_be_available) {
  expect_error<ArgumentError>(
      "WEFT_ISA asks for x86-64-v4, but this build has x86-64-v2, x86-64-v3",
      [] { detail::choose_level(CpuLevel::v4, two, CpuLevel::v4); });
  expect_error<ArgumentError>(
      "WEFT_ISA asks for x86-64-v4, but this processor has no more than x86-64-v3",
      [] { detail::choose_level(CpuLevel::v4, three, CpuLevel::v3); });
  expect_error<ArgumentError>(
      "WEFT_ISA asks for x86-64-v2, but this build has one set of kernels only",
      [] { detail::choose_level(CpuLevel::v2, {}, CpuLevel::v3); });
}

TEST(CpuLevel, refuses_processors_that_are_too_old) {
  expect_error<DeviceError>("lacks instructions of x86-64-v2",
                            [] { detail::choose_level(CpuLevel::any, two, CpuLevel::any); });
}

TEST(CpuLevel, of_this_process_is_available) {
  const auto built = detail::built_levels();
  if (built.empty()) {
    EXPECT_EQ(cpu_level(), CpuLevel::any);
  } else {
    EXPECT_GE(cpu_level(), built.front());
    EXPECT_LE(cpu_level(), built.back());
    EXPECT_LE(cpu_level(), detail::highest_level());
  }
}

}  // namespace
}  // namespace weft::test
