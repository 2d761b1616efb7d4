#include <weft/core/cpu_level.hpp>

#include "support/shell.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>

namespace weft::test {
namespace {

Ended run_at(const std::string& level) {
  return run_shell("P=" WEFT_TEST_PROGRAM_DIR "/levels_program",
                   "WEFT_QUIET=1 WEFT_ISA=" + level + " $P --ranks 2");
}

TEST(Levels, give_the_same_bits) {
  if (detail::built_levels().empty()) GTEST_SKIP() << "this build has one kind of kernels only";
  const Ended oldest = run_at("v2");
  ASSERT_EQ(oldest.code, 0) << oldest.output;
  for (const CpuLevel level : detail::built_levels()) {
    if (level == CpuLevel::v2) continue;
    if (level > detail::highest_level()) {
      std::printf("not compared: this processor is not of %s\n", to_string(level).c_str());
      continue;
    }
    const Ended newer = run_at(to_string(level).substr(7));
    ASSERT_EQ(newer.code, 0) << newer.output;
    std::istringstream expected(oldest.output);
    std::istringstream found(newer.output);
    int lines = 0;
    for (std::string a, b; std::getline(expected, a); ++lines) {
      ASSERT_TRUE(std::getline(found, b));
      EXPECT_EQ(a, b) << "at " << to_string(level);
    }
    EXPECT_GT(lines, 300);
  }
}

TEST(Levels, refuse_unknown_names) {
  const Ended ended = run_at("v7");
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.output.find("WEFT_ISA must be "), std::string::npos) << ended.output;
}

}  // namespace
}  // namespace weft::test
