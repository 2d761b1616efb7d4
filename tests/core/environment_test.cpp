#include "core/environment.hpp"

#include <weft/comm/comm.hpp>
#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace weft::detail {
namespace {

Settings parse(const std::map<std::string, std::string>& variables) {
  return parse_settings([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string complaint(const std::string& name, const std::string& text) {
  try {
    parse({{name, text}});
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST(Environment, has_defaults) {
  const Settings settings = parse({});
  EXPECT_FALSE(settings.check);
  EXPECT_EQ(settings.timeout.count(), 300);
  EXPECT_EQ(settings.device_comm, RouteRequest::automatic);
  EXPECT_TRUE(settings.table.empty());
  EXPECT_EQ(settings.order, ReduceOrder::by_rank);
  EXPECT_TRUE(settings.gpus.empty());
  EXPECT_EQ(settings.isa, CpuLevel::any);
  EXPECT_FALSE(settings.quiet);
}

TEST(Environment, sets_every_value) {
  const Settings settings = parse({{"WEFT_CHECK", "1"},
                                   {"WEFT_TIMEOUT", "2.5"},
                                   {"WEFT_DEVICE_COMM", "staged"},
                                   {"WEFT_TABLE", "some/table.json"},
                                   {"WEFT_ORDER", "any"},
                                   {"WEFT_GPUS", "3,0,11"},
                                   {"WEFT_ISA", "v2"},
                                   {"WEFT_QUIET", "1"}});
  EXPECT_TRUE(settings.check);
  EXPECT_EQ(settings.timeout.count(), 2.5);
  EXPECT_EQ(settings.device_comm, RouteRequest::staged);
  EXPECT_EQ(settings.table, "some/table.json");
  EXPECT_EQ(settings.order, ReduceOrder::arbitrary);
  EXPECT_EQ(parse({{"WEFT_ORDER", "rank"}}).order, ReduceOrder::by_rank);
  EXPECT_EQ(settings.gpus, (std::vector<int>{3, 0, 11}));
  EXPECT_EQ(settings.isa, CpuLevel::v2);
  EXPECT_TRUE(settings.quiet);
  EXPECT_EQ(parse({{"WEFT_ISA", "v3"}}).isa, CpuLevel::v3);
  EXPECT_EQ(parse({{"WEFT_ISA", "v4"}}).isa, CpuLevel::v4);
  EXPECT_FALSE(parse({{"WEFT_CHECK", "0"}}).check);
  EXPECT_FALSE(parse({{"WEFT_QUIET", "0"}}).quiet);
  EXPECT_EQ(parse({{"WEFT_GPUS", "7"}}).gpus, std::vector<int>{7});
  const std::map<std::string, RouteRequest> routes = {{"auto", RouteRequest::automatic},
                                                      {"fast", RouteRequest::fast},
                                                      {"nccl", RouteRequest::nccl},
                                                      {"mpi", RouteRequest::mpi},
                                                      {"none", RouteRequest::none}};
  for (const auto& [word, route] : routes) {
    EXPECT_EQ(parse({{"WEFT_DEVICE_COMM", word}}).device_comm, route) << word;
  }
}

TEST(Environment, refuses_bad_values) {
  const std::map<std::string, std::vector<std::string>> bad = {
      {"WEFT_CHECK", {"maybe", "", "2", "01", "-1", "yes", " 1"}},
      {"WEFT_ISA", {"", "v1", "v5", "V3", "v33", "x86-64-v3", "avx2"}},
      {"WEFT_QUIET", {"maybe", "", "true"}},
      {"WEFT_TIMEOUT",
       {"", "soon", "0", "-1", "nan", "inf", "1e10", "1e999", "1e-999", "3s", "3 ", "0x10"}},
      {"WEFT_DEVICE_COMM", {"", "foo", "NCCL", "auto,nccl"}},
      {"WEFT_TABLE", {""}},
      {"WEFT_ORDER", {"", "ranks", "Any", "1"}},
      {"WEFT_GPUS", {"", "x", "0;1", "0,", ",0", "0,,1", "-1,0", "0,99999999999", "0, 1", "1.5"}}};
  for (const auto& [name, texts] : bad) {
    for (const std::string& text : texts) {
      const std::string expected = name + " must be ";
      EXPECT_EQ(complaint(name, text).substr(0, expected.size()), expected) << text;
      EXPECT_NE(complaint(name, text).find("got '" + text + "'"), std::string::npos) << text;
    }
  }
  EXPECT_EQ(complaint("WEFT_CHECK", "maybe"), "WEFT_CHECK must be 0 or 1, got 'maybe'");
}

TEST(Environment, quotes_bad_values_briefly_and_without_control_characters) {
  const std::string text = complaint("WEFT_CHECK", "\033[2J\n" + std::string(100'000, 'x'));
  EXPECT_LT(text.size(), 150U);
  for (const char character : text) EXPECT_GE(character, ' ');
}

TEST(Environment, notes_unknown_names) {
  const char* const entries[] = {"PATH=/bin",         "WEFT_CHECK=1",   "WEFT_TEST_RANKS=3",
                                 "WEFT_TIMEOT=3",     "WEFT_CHEKC=1",   "WEFT_PIGEON=WEFT_QUIET",
                                 "MY_WEFT_CHECK=1",   "WEFT_GPU=0",     "WEFT_",
                                 "WEFT_\033[2J\nX=1", "WEFTY_THREAD=1", nullptr};
  const std::vector<std::string> expected = {
      "WEFT_TIMEOT is set, but Weft has no such variable; did you mean WEFT_TIMEOUT?",
      "WEFT_CHEKC is set, but Weft has no such variable; did you mean WEFT_CHECK?",
      "WEFT_PIGEON is set, but Weft has no such variable",
      "WEFT_GPU is set, but Weft has no such variable; did you mean WEFT_GPUS?",
      "WEFT_ is set, but Weft has no such variable",
      "WEFT_\\x1b[2J\\x0aX is set, but Weft has no such variable"};
  EXPECT_EQ(notes_on_unknown_variables(entries), expected);
  EXPECT_TRUE(notes_on_unknown_variables(nullptr).empty());
  const std::string long_name = "WEFT_" + std::string(100'000, 'x');
  const char* const long_entries[] = {long_name.c_str(), nullptr};
  EXPECT_LT(notes_on_unknown_variables(long_entries).at(0).size(), 150U);
}

TEST(Environment, is_documented) {
  std::stringstream page;
  page << std::ifstream(WEFT_TEST_DOCS "/architecture.md").rdbuf();
  const std::string help = variables_help();
  for (const std::string_view name : variable_names()) {
    EXPECT_NE(page.str().find(fmt::format("| `{}=", name)), std::string::npos) << name;
    EXPECT_NE(help.find(fmt::format("  {}=", name)), std::string::npos) << name;
  }
}

// A program without launch. The environment is read once per process, so it runs in its own.

[[noreturn]] void make_a_communicator() {
  setenv("WEFT_DEVICE_COMM", "foo", 1);
  int code = 1;
  try {
    static_cast<void>(Comm::self());
  } catch (const ArgumentError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 0;
  }
  std::_Exit(code);
}

TEST(EnvironmentDeathTest, is_checked_at_first_use) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(make_a_communicator(), testing::ExitedWithCode(0),
              "WEFT_DEVICE_COMM must be .*, got 'foo'");
}

}  // namespace weft::detail
