// Which algorithm an allreduce uses, and the files that say so.

#include "comm/allreduce_table.hpp"

#include <weft/core/error.hpp>

#include "comm/allreduce_table_file.hpp"
#include "support/shell.hpp"
#include "support/text.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace weft::test {
namespace {

using namespace weft::detail;
using enum AllreduceAlgorithm;
using enum AllreducePlace;

constexpr index_t unlimited = AllreduceLimit::unlimited;

AllreduceAlgorithm choose(const AllreduceTable& table, AllreducePlace place, int ranks,
                          index_t bytes) {
  return table.choices(place, ranks).choose({ranks, bytes, DType::f32, ReduceOp::sum});
}

// Choices

TEST(AllreduceTable, has_default_limits) {
  const AllreduceTable table({}, ReduceOrder::by_rank);
  struct Expected {
    AllreducePlace place;
    int ranks;
    index_t bytes;
    AllreduceAlgorithm algorithm;
  };
  const Expected expected[] = {
      {thread, 1, 0, slots},
      {thread, 2, 488, slots},
      {thread, 2, 489, slices},
      {thread, 100, 1 << 30, slices},
      {process, 2, 496, in_line},
      {process, 2, 497, one_shot},
      {process, 2, index_t{1} << 40, one_shot},
      {process, 3, 5461, one_shot},
      {process, 3, 5462, two_shot},
      {process, 4, 496, in_line},
      {process, 4, 4096, one_shot},
      {process, 4, 4097, two_shot},
      {process, 5, 4096, one_shot},
      {process, 5, 4097, two_shot},
      {process, 16, 1024, one_shot},
      {process, 1000, 496, in_line},
      {process, 1000, 497, two_shot},
      {gpu_thread, 2, 32 << 10, ll},
      {gpu_thread, 2, (32 << 10) + 1, push},
      {gpu_thread, 16, 512 << 10, push},
      {gpu_thread, 16, (512 << 10) + 1, two_shot},
      {gpu_process, 2, 32 << 10, ll},
      {gpu_process, 2, 64 << 20, push},
      {gpu_process, 4, 512 << 10, push},
      {gpu_process, 4, (512 << 10) + 1, relay},
  };
  for (const Expected& each : expected) {
    EXPECT_EQ(choose(table, each.place, each.ranks, each.bytes), each.algorithm)
        << to_string(each.place) << ", " << each.ranks << " ranks, " << each.bytes << " bytes";
  }
}

TEST(AllreduceTable, takes_the_limits_of_the_next_lower_number_of_ranks) {
  const AllreduceTable table({{process, 8, unlimited, one_shot}, {process, 4, unlimited, two_shot}},
                             ReduceOrder::by_rank);
  EXPECT_EQ(choose(table, process, 3, 8), in_line);  // by default
  EXPECT_EQ(choose(table, process, 4, 8), two_shot);
  EXPECT_EQ(choose(table, process, 7, 8), two_shot);
  EXPECT_EQ(choose(table, process, 8, 8), one_shot);
  EXPECT_EQ(choose(table, process, 900, 8), one_shot);
  EXPECT_EQ(choose(table, thread, 8, 8), slots);
}

TEST(AllreduceTable, orders_limits_by_size) {
  const AllreduceTable table(
      {{process, 2, unlimited, two_shot}, {process, 2, 100, in_line}, {process, 2, 1000, one_shot}},
      ReduceOrder::by_rank);
  EXPECT_EQ(choose(table, process, 2, 100), in_line);
  EXPECT_EQ(choose(table, process, 2, 101), one_shot);
  EXPECT_EQ(choose(table, process, 2, 1000), one_shot);
  EXPECT_EQ(choose(table, process, 2, 1001), two_shot);
}

TEST(AllreduceTable, passes_over_algorithms_that_do_not_apply) {
  const AllreduceTable table({{process, 2, 10000, in_line}, {process, 2, unlimited, two_shot}},
                             ReduceOrder::by_rank);
  EXPECT_EQ(choose(table, process, 2, 496), in_line);
  EXPECT_EQ(choose(table, process, 2, 497), two_shot);
  const AllreduceTable no_other({{process, 2, unlimited, in_line}, {thread, 1, unlimited, slots}},
                                ReduceOrder::by_rank);
  EXPECT_EQ(choose(no_other, process, 2, 1 << 20), one_shot);  // by default
  EXPECT_EQ(choose(no_other, thread, 2, 1 << 20), slices);
}

TEST(AllreduceTable, uses_the_default_above_the_last_limit) {
  const AllreduceTable table({{process, 4, 1000, one_shot}}, ReduceOrder::by_rank);
  EXPECT_EQ(choose(table, process, 4, 8), one_shot);
  EXPECT_EQ(choose(table, process, 4, 1 << 20), two_shot);
}

TEST(AllreduceTable, admits_other_orders_only_on_request) {
  const std::vector<AllreduceLimit> limits = {{process, 2, unlimited, beneath}};
  EXPECT_EQ(choose({limits, ReduceOrder::arbitrary}, process, 2, 1 << 20), beneath);
  EXPECT_EQ(choose({limits, ReduceOrder::by_rank}, process, 2, 1 << 20), one_shot);
  for (const index_t bytes : {8, 1000, 1 << 20}) {  // not by default
    EXPECT_NE(choose({{}, ReduceOrder::arbitrary}, process, 2, bytes), beneath);
  }
}

TEST(AllreduceTable, has_a_hash_of_all_that_determines_the_choice) {
  const AllreduceLimit limit = {process, 2, 1000, one_shot};
  const auto hash = [](AllreduceLimit only, ReduceOrder order = ReduceOrder::by_rank) {
    return AllreduceTable({only}, order).hash();
  };
  EXPECT_EQ(hash(limit), hash(limit));
  EXPECT_NE(hash(limit), AllreduceTable({}, ReduceOrder::by_rank).hash());
  EXPECT_NE(hash(limit), hash(limit, ReduceOrder::arbitrary));
  EXPECT_NE(hash(limit), hash({thread, 2, 1000, slices}));
  EXPECT_NE(hash(limit), hash({process, 3, 1000, one_shot}));
  EXPECT_NE(hash(limit), hash({process, 2, 1001, one_shot}));
  EXPECT_NE(hash(limit), hash({process, 2, 1000, two_shot}));
}

TEST(AllreduceTable, finds_algorithms_by_place_and_name) {
  EXPECT_EQ(allreduce_names(thread), "slots, slices");
  EXPECT_EQ(allreduce_names(process), "inline, one_shot, two_shot, beneath");
  EXPECT_EQ(allreduce_names(gpu_thread), "ll, push, relay, two_shot");
  EXPECT_EQ(find_allreduce_row(process, "slots"), nullptr);
  EXPECT_EQ(find_allreduce_row(gpu_thread, "two_shot")->place, gpu_thread);
  EXPECT_EQ(allreduce_names(gpu_process), "ll, push, relay, two_shot");
  EXPECT_EQ(allreduce_table()->choices(gpu_thread, 2).choose({.ranks = 2, .bytes = 8}), ll);
}

// Ranks know only of their own memory whether it is registered; calls that are too small to profit
// do not ask.
TEST(AllreduceTable, uses_registered_memory_in_large_calls_of_processes_on_a_gpu) {
  const auto algorithm = [](int ranks, index_t bytes, bool registered) {
    return AllreduceTable({}, ReduceOrder::by_rank)
        .choices(gpu_process, ranks)
        .choose({.ranks = ranks, .bytes = bytes, .registered = registered});
  };
  for (const int ranks : {2, 3, 4, 8}) {
    for (const index_t bytes : {8, 32 << 10, 512 << 10}) {
      EXPECT_EQ(algorithm(ranks, bytes, true), algorithm(ranks, bytes, false)) << bytes;
    }
    for (const index_t bytes : {(512 << 10) + 1, 64 << 20}) {
      EXPECT_EQ(algorithm(ranks, bytes, true), two_shot) << bytes;
      EXPECT_EQ(algorithm(ranks, bytes, false), ranks == 2 ? push : relay) << bytes;
    }
  }
}

// Files

const std::string head = R"({"format": "weft allreduce table", "version": 1, "rows": [)";
const std::string good_row =
    R"({"place": "process", "ranks": 2, "up_to": 496, "algorithm": "inline"})";

TEST(AllreduceTableFile, is_read) {
  const auto limits = parse_allreduce_limits(
      head + good_row +
      R"(, {"algorithm": "slices", "up_to": null, "ranks": 1024, "place": "thread"}]})");
  const std::vector<AllreduceLimit> expected = {{process, 2, 496, in_line},
                                                {thread, 1024, unlimited, slices}};
  EXPECT_EQ(limits, expected);
  EXPECT_TRUE(parse_allreduce_limits(head + "]}").empty());
}

TEST(AllreduceTableFile, is_read_as_it_was_written) {
  const std::vector<AllreduceLimit> limits = {{process, 2, 496, in_line},
                                              {process, 2, unlimited, beneath},
                                              {gpu_thread, 8, 4096, ll},
                                              {gpu_thread, 8, unlimited, two_shot}};
  EXPECT_EQ(parse_allreduce_limits(allreduce_limits_text(limits)), limits);
  EXPECT_TRUE(parse_allreduce_limits(allreduce_limits_text({})).empty());
}

std::string complaint(const std::string& text) {
  try {
    parse_allreduce_limits(text);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "none";
}

std::string second_row(const std::string& row) { return head + good_row + ", " + row + "]}"; }

TEST(AllreduceTableFile, is_refused_with_the_row_and_what_is_allowed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not JSON: "},
      {"\x01\x02", "not JSON: "},
      {head, "not JSON: "},
      {head + "]} x", "not JSON: "},
      {"[]", "the table must be an object, got []"},
      {R"({"version": 1, "rows": []})",
       "the table has no 'format'; it must have format, version, rows"},
      {R"({"format": "weft allreduce table", "version": 1})", "the table has no 'rows'"},
      {R"({"format": "else", "version": 1, "rows": []})",
       R"(format must be "weft allreduce table", got "else")"},
      {R"({"format": "weft allreduce table", "version": 2, "rows": []})",
       "version must be 1, got 2"},
      {R"({"format": "weft allreduce table", "version": "1", "rows": []})",
       R"(version must be 1, got "1")"},
      {R"({"format": "weft allreduce table", "version": 1, "rows": 3})",
       "rows must be an array, got 3"},
      {R"({"format": "weft allreduce table", "version": 1, "rows": [], "row": 1})",
       "the table has an unknown field 'row'; it must have format, version, rows"},
      {second_row("7"), "row 2 must be an object, got 7"},
      {second_row(R"({"place": "process", "ranks": 2, "algorithm": "inline"})"),
       "row 2 has no 'up_to'; it must have place, ranks, up_to, algorithm"},
      {second_row(
           R"({"place": "process", "ranks": 2, "up_to": 1, "algorithm": "inline", "x\n": 1})"),
       "row 2 has an unknown field 'x\\x0a'; it must have place, ranks, up_to, algorithm"},
      {second_row(R"({"place": "moon", "ranks": 2, "up_to": 1, "algorithm": "inline"})"),
       R"(row 2: place must be thread, process, gpu_thread or gpu_process, got "moon")"},
      {second_row(R"({"place": 1, "ranks": 2, "up_to": 1, "algorithm": "inline"})"),
       "row 2: place must be thread, process, gpu_thread or gpu_process, got 1"},
      {second_row(R"({"place": "thread", "ranks": 2, "up_to": 1, "algorithm": "inline"})"),
       "row 2: algorithm must be one of slots, slices for place thread, got \"inline\""},
      {second_row(R"({"place": "gpu_process", "ranks": 2, "up_to": 1, "algorithm": null})"),
       "row 2: algorithm must be one of ll, push, relay, two_shot for place gpu_process, got null"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(complaint(text).substr(0, expected.size()), expected) << text;
  }
  for (const char* number : {"-1", "0", "1.5", "\"2\"", "true", "1e3", "99999999999999999999"}) {
    const std::string ranks = second_row(fmt::format(
        R"({{"place": "process", "ranks": {}, "up_to": 1, "algorithm": "inline"}})", number));
    EXPECT_EQ(complaint(ranks).find("row 2: ranks must be a positive number of ranks, got "), 0U)
        << complaint(ranks);
    const std::string up_to = second_row(fmt::format(
        R"({{"place": "process", "ranks": 2, "up_to": {}, "algorithm": "inline"}})", number));
    EXPECT_EQ(complaint(up_to).find("row 2: up_to must be a positive number of bytes, or null for "
                                    "no limit, got "),
              0U)
        << complaint(up_to);
  }
}

/// A file that exists during a test.
class TestFile {
 public:
  TestFile(const std::string& name, const std::string& text)
      : path_(fmt::format("{}weft_{}_{}", testing::TempDir(), getpid(), name)) {
    std::ofstream(path_) << text;
  }
  ~TestFile() { std::remove(path_.c_str()); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Ended run(const std::string& command) {
  return run_shell("export WEFT_QUIET=1; P='timeout 30 " WEFT_TEST_PROGRAM_DIR "/launch_program'",
                   command);
}

TEST(AllreduceTableFile, is_checked_at_program_start) {
  const TestFile good("good.json", head + good_row + "]}");
  const Ended right = run(fmt::format("WEFT_TABLE='{}' $P show --ranks 2 | head -1", good.path()));
  EXPECT_EQ(right.output, "2 ranks on thread with cpu\n");

  const TestFile bad("bad.json", head + "4]}");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "weft: WEFT_TABLE must be the name of a file, got ''\n"},
      {"/no/such/file",
       "weft: WEFT_TABLE: cannot read '/no/such/file': No such file or directory\n"},
      {"/", "weft: WEFT_TABLE: cannot read '/': Is a directory\n"},
      {bad.path(), "weft: WEFT_TABLE: '" + bad.path() + "': row 1 must be an object, got 4\n"}};
  for (const auto& [path, expected] : cases) {
    const Ended wrong = run(fmt::format("WEFT_TABLE='{}' $P show --ranks 2", path));
    EXPECT_EQ(wrong.code, 2);
    EXPECT_EQ(wrong.output, expected);
  }
}

TEST(AllreduceTableFile, must_be_the_same_on_all_ranks) {
  WEFT_SKIP_WITHOUT_MPI();
  const TestFile file("table.json", head + good_row + "]}");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"WEFT_TABLE=" + file.path(), "WEFT_TABLE differs between ranks 0 and 2"},
      {"WEFT_ORDER=any", "WEFT_ORDER differs between ranks 0 and 2"}};
  for (const auto& [setting, expected] : cases) {
    const Ended ended =
        run(fmt::format("{} -n 2 $P show : -n 1 env {} $P show", WEFT_MPIEXEC, setting));
    EXPECT_NE(ended.code, 0);
    EXPECT_EQ(occurrences(ended.output, "weft: "), 1) << ended.output;
    EXPECT_EQ(occurrences(ended.output, "weft: " + expected + "; it must be the same\n"), 1)
        << ended.output;
    const Ended same = run(fmt::format("export {}; {} -n 3 $P show", setting, WEFT_MPIEXEC));
    EXPECT_EQ(same.code, 0) << same.output;
  }
}

}  // namespace
}  // namespace weft::test
