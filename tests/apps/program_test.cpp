// Runs the program weft.

#include <weft/comm/reduce_op.hpp>
#include <weft/core/cpu_level.hpp>

#include "bench/cases.hpp"
#include "support/shell.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace weft;
using nlohmann::json;

using test::Ended;

/// Runs a shell command in which $W is the program.
Ended run(const std::string& command) {
  return test::run_shell("export WEFT_QUIET=1 OMP_NUM_THREADS=1; W='timeout 30 " WEFT_TEST_APP "'",
                         command);
}

const std::string mpiexec = WEFT_MPIEXEC;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

/// The rows of a table, as words.
std::vector<std::vector<std::string>> rows_of(const std::string& output) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  return rows;
}

/// Expects a run that checked results and found no errors.
void expect_right(const std::string& command) {
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 0) << command << "\n" << ended.output;
  EXPECT_TRUE(contains(ended.output, "# wrong values: 0 OK")) << command << "\n" << ended.output;
  EXPECT_FALSE(rows_of(ended.output).empty()) << command;
}

// Help and mistakes

TEST(Program, shows_help_with_its_own_options_and_those_of_launch) {
  for (const char* command : {"$W --help", "$W bench --help", "$W info --help", "$W bench -h"}) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 0);
    EXPECT_TRUE(contains(ended.output, "--ranks")) << ended.output;
    EXPECT_TRUE(contains(ended.output, "mpirun -n")) << ended.output;
  }
  EXPECT_TRUE(contains(run("$W --help").output, "bench"));
  const std::string help = run("$W bench --help").output;
  for (const bench::Case& each : bench::all_cases()) {
    EXPECT_TRUE(contains(help, std::string(each.name))) << each.name;
  }
}

TEST(Program, shows_its_version) {
  const Ended ended = run("$W --version");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output.rfind("weft ", 0), 0U) << ended.output;
}

TEST(Program, reports_usage_errors_in_one_line) {
  for (const char* bad : {"",
                          "dance",
                          "bench",
                          "bench dance",
                          "bench allreduce --min 0",
                          "bench allreduce --max 4",
                          "bench allreduce --factor 1",
                          "bench allreduce --dtype f33",
                          "bench allreduce --op median",
                          "bench allreduce --dtype c64 --op max",
                          "bench allreduce --dtype f32 --op sum,bit_and",
                          "bench halo --dtype i8",
                          "bench all_gather --op sum",
                          "bench all_gather --root 0",
                          "bench reduce --root 2 --ranks 2",
                          "bench reduce --root -1",
                          "bench broadcast --in-place no",
                          "bench sendrecv --in-place yes",
                          "bench allreduce --in-place maybe",
                          "bench allreduce --iters 0",
                          "bench allreduce --compare apples",
                          "bench allreduce --dance",
                          "bench allreduce --comm pigeon",
                          "bench allreduce --dtype f32,,f64",
                          "bench allreduce --op sum,",
                          "bench allreduce --json ''",
                          "bench allreduce --json --compare",
                          "bench reduce --root ''",
                          "bench allreduce --compare ''",
                          "bench allreduce --algorithm dance --ranks 2",
                          "bench allreduce --algorithm inline --ranks 2 --comm thread",
                          "bench allreduce --algorithm slots --ranks 2 --min 1K",
                          "bench allreduce --algorithm all --comm self",
                          "bench reduce --algorithm slots",
                          "bench allreduce --skew -1",
                          "bench allreduce --skew 5 --graph 2",
                          "bench allreduce --misalign 3",
                          "bench allreduce --misalign -4",
                          "bench allreduce --misalign 4 --dtype f32,f64",
                          "bench halo --misalign 4",
                          "bench tune",
                          "bench tune --json x --algorithm slots",
                          "bench tune --json x --compare raw",
                          "bench tune --json x --dtype f32,f64",
                          "bench tune --json x --comm self",
                          "selftest --shape 3,9,9",
                          "selftest --shape 8,8,x",
                          "selftest --shape 8,,8",
                          "selftest --shape 4,4,4,4,4,4,4,4,4",
                          "selftest --shape 99999999999,9999999,9999999",
                          "sparse-bench --dance",
                          "sparse-bench dance",
                          "sparse-bench --algorithm okaytopk",
                          "sparse-bench --algorithm topkA,,oktopk",
                          "sparse-bench --selector best",
                          "sparse-bench --dtype i32",
                          "sparse-bench --exchange none",
                          "sparse-bench --partition even",
                          "sparse-bench --balance maybe",
                          "sparse-bench --n 0",
                          "sparse-bench --n 2000000G",
                          "sparse-bench --density 0",
                          "sparse-bench --density 1.5",
                          "sparse-bench --density nan",
                          "sparse-bench --calls 0",
                          "sparse-bench --warmup -1",
                          "sparse-bench --groups 0",
                          "sparse-bench --groups 3 --ranks 2",
                          "sparse-bench --tables chairs",
                          "sparse-bench --compare apples",
                          "sparse-bench --tables words --compare raw",
                          "sparse-bench --bar 0",
                          "sparse-bench --bar nan",
                          "sparse-bench --check --trace",
                          "sparse-bench --check --calls 3",
                          "sparse-bench --check --tables words",
                          "sparse-bench --trace --bar 1",
                          "sparse-bench --trace --groups 1",
                          "sparse-bench --json --check",
                          "info --dance"}) {
    const Ended ended = run(fmt::format("$W {} > /dev/null", bad));
    EXPECT_EQ(ended.code, 2) << bad;
    EXPECT_EQ(ended.output.rfind("weft: ", 0), 0U) << bad << "\n" << ended.output;
    EXPECT_EQ(lines(ended.output), 1) << bad << "\n" << ended.output;
  }
}

TEST(Program, does_not_take_the_next_argument_for_a_missing_value) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> subcommands = {
      {"demo derivative --shape 48,16 --no-report",
       {"--shape", "--iterations", "--noise", "--report", "--ranks", "--comm", "--device"}},
      {"info", {"--json", "--ranks", "--comm", "--device"}},
      {"selftest", {"--shape", "--ranks", "--comm", "--device"}},
      {"sparse-bench --check --n 100",
       {"--tables", "--algorithm", "--n", "--density", "--dtype", "--exchange", "--selector",
        "--partition", "--balance", "--groups", "--calls", "--warmup", "--compare", "--bar",
        "--json"}},
      {"bench reduce --max 8",
       {"--min", "--max", "--factor", "--dtype", "--op", "--root", "--iters", "--warmup", "--check",
        "--in-place", "--graph", "--json", "--compare", "--algorithm", "--skew", "--misalign",
        "--ranks", "--comm", "--device"}}};
  for (const auto& [subcommand, options] : subcommands) {
    for (const std::string& option : options) {
      for (const char* next : {"", "8", "--help"}) {
        const Ended ended = run(fmt::format("$W {} {}= {}", subcommand, option, next));
        EXPECT_EQ(ended.code, 2) << option;
        EXPECT_EQ(ended.output, fmt::format("weft: {}= needs a value after the '='\n", option));
      }
    }
  }
}

TEST(Program, reports_once_that_a_file_cannot_be_written) {
  const Ended early = run("$W bench allreduce --ranks 2 --json /no/such/folder/x.json");
  EXPECT_EQ(early.code, 1);
  EXPECT_EQ(lines(early.output), 1) << early.output;
  const Ended late =
      run("$W bench allreduce --ranks 2 --max 8 --iters 1 --json /dev/full 2>&1 > /dev/null");
  EXPECT_EQ(late.code, 1);
  EXPECT_EQ(late.output, "weft: rank 0: cannot write '/dev/full': No space left on device\n");
}

TEST(Program, keeps_a_file_until_it_has_results) {
  const std::string path = testing::TempDir() + "weft_program_test_kept.json";
  std::ofstream(path) << "old";
  const Ended ended = run(fmt::format(
      "$W bench allreduce --ranks 2 --min 100000G --max 100000G --json '{}' 2>&1 > /dev/null",
      path));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(contains(ended.output, "not enough memory for messages of 100000G")) << ended.output;
  std::string kept;
  std::ifstream(path) >> kept;
  EXPECT_EQ(kept, "old");
  std::remove(path.c_str());
}

TEST(Program, reports_errors_once_on_mpi) {
  WEFT_SKIP_WITHOUT_MPI();
  const Ended ended = run(mpiexec + " -n 2 $W bench dance");
  EXPECT_EQ(ended.code, 2);
  const auto first = ended.output.find("there is no 'dance'");
  EXPECT_NE(first, std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find("there is no 'dance'", first + 1), std::string::npos) << ended.output;
}

// info

TEST(Program, info_shows_build_machine_and_route) {
  const Ended text = run("$W info --ranks 2 --device debug");
  EXPECT_EQ(text.code, 0);
  for (const char* part : {"version", "compiler", "MPI", "CUDA", "NCCL", "cores", "debug arrays"}) {
    EXPECT_TRUE(contains(text.output, part)) << part << " in\n" << text.output;
  }
  const json facts = json::parse(run("$W info --json --ranks 2").output);
  EXPECT_TRUE(facts.at("build").at("version").is_string());
  EXPECT_TRUE(facts.at("build").at("kernels for").is_string());
  EXPECT_EQ(facts.at("communication").at("ranks"), "2 on thread");
}

TEST(Program, info_shows_what_the_fast_allreduce_uses) {
  const json facts = json::parse(run("$W info --json").output).at("fast allreduce");
  EXPECT_EQ(facts.at("shared memory"), "yes");
  EXPECT_EQ(facts.at("table"), "built in");
  EXPECT_EQ(facts.at("order"), "of the ranks");
  EXPECT_TRUE(contains(run("$W info").output, "\nfast allreduce\n  shared memory        yes\n"));

  const std::string table = testing::TempDir() + "weft_program_test_table.json";
  std::ofstream(table) << R"({"format": "weft allreduce table", "version": 1, "rows": []})";
  const json set = json::parse(
      run(fmt::format("WEFT_FAST=0 WEFT_TABLE='{}' WEFT_ORDER=any $W info --json", table)).output);
  std::remove(table.c_str());
  EXPECT_EQ(set.at("fast allreduce").at("shared memory"), "no: WEFT_FAST=0");
  EXPECT_EQ(set.at("fast allreduce").at("table"), table + ", by WEFT_TABLE");
  EXPECT_EQ(set.at("fast allreduce").at("order"), "any, by WEFT_ORDER");
}

TEST(Program, info_shows_why_there_is_no_shared_memory) {
  // No file may have a byte, so none of the memory can be reserved.
  const json facts = json::parse(run("trap '' XFSZ; ulimit -f 0; $W info --json").output);
  const std::string text = facts.at("fast allreduce").at("shared memory");
  EXPECT_TRUE(contains(text, "no: rank 0 cannot reserve ")) << text;
  EXPECT_TRUE(contains(text, "File too large")) << text;
}

TEST(Program, info_shows_the_selected_kernels) {
  const auto levels = detail::built_levels();
  if (levels.empty()) GTEST_SKIP() << "this build has one kind of kernels only";
  const json facts = json::parse(run("$W info --json").output);
  EXPECT_EQ(facts.at("machine").at("kernels"), to_string(cpu_level()));
  const json old = json::parse(run("WEFT_ISA=v2 $W info --json").output);
  EXPECT_EQ(old.at("machine").at("kernels"), "x86-64-v2, by WEFT_ISA");
  EXPECT_EQ(old.at("build"), facts.at("build"));
  const Ended refused = run("WEFT_ISA=v7 $W info");
  EXPECT_NE(refused.code, 0);
  EXPECT_TRUE(contains(refused.output, "WEFT_ISA must be v2, v3 or v4, got 'v7'"))
      << refused.output;
}

TEST(Program, info_warns_if_blas_does_not_know_the_processor) {
#ifdef __x86_64__
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  const Ended old = run("OPENBLAS_CORETYPE=Prescott $W info");
  if (!contains(old.output, "code for Prescott"))
    GTEST_SKIP() << "this OpenBLAS has code for one processor only, or is missing";
  EXPECT_TRUE(contains(old.output, "set OPENBLAS_CORETYPE=")) << old.output;
  const Ended known = run("OPENBLAS_CORETYPE=Haswell $W info");
  EXPECT_TRUE(contains(known.output, "code for Haswell")) << known.output;
  EXPECT_FALSE(contains(known.output, "OPENBLAS_CORETYPE")) << known.output;
#else
  GTEST_SKIP() << "the advice is for x86-64";
#endif
}

// selftest

TEST(Program, selftest_tests_all_operators) {
  for (const char* how : {"--ranks 1", "--ranks 3", "--ranks 2 --device debug"}) {
    // The debug device is slow.
    const Ended ended = run(fmt::format("timeout 100 ${{W#timeout 30}} selftest {}", how));
    EXPECT_EQ(ended.code, 0) << ended.output;
    EXPECT_TRUE(contains(ended.output, "all passed")) << ended.output;
    for (const char* name : {"diagonal", "halo", "vstack over ranks", "c128"}) {
      EXPECT_TRUE(contains(ended.output, name)) << ended.output;
    }
  }
}

TEST(Program, selftest_takes_any_number_of_axes) {
  for (const char* shape : {"8,8,8", "8 8 8", "7", "5,6", "4,5,4,6", "4,4,4,4,4"}) {
    const Ended ended = run(fmt::format("$W selftest --ranks 3 --shape {}", shape));
    EXPECT_EQ(ended.code, 0) << shape << "\n" << ended.output;
    EXPECT_TRUE(contains(ended.output, "\nall passed\n")) << ended.output;
  }
  EXPECT_TRUE(contains(run("$W selftest --shape 5,6").output, "arrays of (5, 6) on cpu"));
}

// bench

TEST(Program, every_call_is_correct_on_threads) {
  for (const bench::Case& each : bench::all_cases()) {
    for (const int ranks : {1, 2, 3, 4}) {
      for (const char* device : {"cpu", "debug"}) {
        expect_right(fmt::format(
            "$W bench {} --ranks {} --device {} --min 8 --max 2K --factor 16 --iters 1 --warmup 0",
            each.name, ranks, device));
      }
    }
  }
}

TEST(Program, every_type_and_op_is_correct) {
  constexpr const char* quick = "--min 100 --max 100 --iters 1 --warmup 0";
  for (const bench::Case& each : bench::all_cases()) {
    for (const int ranks : {2, 3}) {
      expect_right(fmt::format("$W bench {} --ranks {} --dtype all {} {} {}", each.name, ranks,
                               each.reduces ? "--op all" : "", each.has_root ? "--root all" : "",
                               quick));
    }
  }
}

TEST(Program, bench_measures_the_selected_sizes_and_types) {
  const auto rows = rows_of(run("$W bench reduce --ranks 2 --root all --dtype f32,f64 --op sum,max "
                                "--min 64 --max 256 --iters 1 --check 0 --in-place no")
                                .output);
  ASSERT_EQ(rows.size(), 2U * 2 * 2 * 3);
  EXPECT_EQ(rows[0][0], "64");
  EXPECT_EQ(rows[0][1], "16");
  EXPECT_EQ(rows[0][8], "n/a");
  EXPECT_EQ(rows[0][9], "-");
  EXPECT_EQ(rows.back()[2], "f64");
  EXPECT_EQ(rows.back()[3], "max");
  EXPECT_EQ(rows.back()[4], "1");
}

TEST(Program, bench_skips_equal_sizes) {
  const auto rows =
      rows_of(run("$W bench all_gather --ranks 3 --dtype f64 --min 1 --max 64 --iters 1").output);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][0], "24");
  EXPECT_EQ(rows[1][0], "48");
}

TEST(Program, bench_replays_graphs) {
  expect_right("$W bench allreduce --ranks 2 --graph 3 --max 1K --iters 2 --device debug");
}

TEST(Program, bench_reports_that_threads_have_no_bare_call) {
  const Ended ended = run("$W bench allreduce --ranks 2 --max 64 --iters 1 --compare raw");
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(contains(ended.output, "# compared with: nothing")) << ended.output;
  EXPECT_FALSE(contains(ended.output, "ratio")) << ended.output;
}

TEST(Program, bench_warns_about_shared_devices) {
  const Ended ended = run("$W bench allreduce --ranks 2 --max 8 --iters 1");
  EXPECT_TRUE(contains(ended.output, "# warning: ")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "do not measure NVLink")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "#   rank 1 on ")) << ended.output;
}

/// Runs bench with --json and `prefix`, and returns the JSON.
json results_of(const std::string& prefix, const std::string& options) {
  const std::string file = testing::TempDir() + "weft_program_test.json";
  const Ended ended = run(fmt::format("{} $W bench {} --json '{}'", prefix, options, file));
  EXPECT_EQ(ended.code, 0) << ended.output;
  std::ifstream stream(file);
  json results = json::parse(stream);
  std::remove(file.c_str());
  return results;
}

/// Expects the numbers of a cell to follow from its time.
void expect_consistent(const json& row, const json& cell, double factor) {
  const double time_us = cell.at("time_us");
  const double algbw = row.at("bytes").get<double>() / time_us / 1e3;
  EXPECT_GT(time_us, 0);
  EXPECT_NEAR(cell.at("algbw_gbs"), algbw, 1e-9 * algbw);
  EXPECT_NEAR(cell.at("busbw_gbs"), algbw * factor, 1e-9 * algbw);
  EXPECT_EQ(cell.at("wrong"), 0);
}

TEST(Program, bench_writes_json) {
  const json results =
      results_of("", "allreduce --ranks 3 --min 12 --max 12K --factor 10 --iters 2");
  EXPECT_TRUE(results.at("weft").is_string());
  EXPECT_EQ(results.at("date").get<std::string>().size(), 20U);
  EXPECT_EQ(results.at("collective"), "allreduce");
  EXPECT_EQ(results.at("transport"), "thread");
  EXPECT_EQ(results.at("route").at("name"), "thread");
  EXPECT_EQ(results.at("ranks").size(), 3U);
  for (const char* field : {"host", "pid", "device", "device_name"}) {
    EXPECT_TRUE(results.at("ranks")[2].contains(field)) << field;
  }
  EXPECT_EQ(results.at("iters"), 2);
  EXPECT_EQ(results.at("wrong"), 0);
  ASSERT_EQ(results.at("rows").size(), 4U);
  double total = 0;
  for (const json& row : results.at("rows")) {
    EXPECT_EQ(row.at("bytes"), row.at("count").get<int>() * 4);
    EXPECT_EQ(row.at("dtype"), "f32");
    EXPECT_EQ(row.at("op"), "sum");
    EXPECT_TRUE(row.at("root").is_null());
    for (const char* form : {"out_of_place", "in_place"}) {
      expect_consistent(row, row.at(form), 4.0 / 3);
      total += row.at(form).at("busbw_gbs").get<double>();
    }
  }
  EXPECT_NEAR(results.at("average_busbw_gbs"), total / 8, 1e-9 * total);
}

TEST(Program, bench_writes_json_of_calls_with_one_form_and_no_op) {
  const json results = results_of("", "all_to_all --ranks 2 --min 64 --max 64 --iters 2");
  const json& row = results.at("rows").at(0);
  EXPECT_EQ(row.at("count"), 8);
  EXPECT_TRUE(row.at("op").is_null());
  EXPECT_TRUE(row.at("in_place").is_null());
  expect_consistent(row, row.at("out_of_place"), 0.5);
}

/// The values of one column, by the word at this position of each row.
std::vector<std::string> column(const std::vector<std::vector<std::string>>& rows, std::size_t at) {
  std::vector<std::string> values;
  for (const auto& row : rows) values.push_back(row.at(at));
  return values;
}

TEST(Program, bench_measures_single_algorithms) {
  const std::string bench = "$W bench allreduce --ranks 3 --min 256 --max 1K --iters 2 ";
  expect_right(bench + "--algorithm all");
  const auto rows = rows_of(run(bench + "--algorithm all").output);
  EXPECT_EQ(column(rows, 0), (std::vector<std::string>{"256", "256", "512", "1024"}));
  EXPECT_EQ(column(rows, 5), (std::vector<std::string>{"slots", "slices", "slices", "slices"}));
  const json one =
      results_of("", "allreduce --ranks 2 --min 64 --max 64 --algorithm slices --iters 2");
  ASSERT_EQ(one.at("rows").size(), 1U);
  EXPECT_EQ(one.at("rows")[0].at("algorithm"), "slices");
  EXPECT_FALSE(
      results_of("", "allreduce --ranks 2 --max 8 --iters 1").at("rows")[0].contains("algorithm"));

  const Ended unknown = run("$W bench allreduce --ranks 2 --algorithm two_shot");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.output, "place thread has slots, slices")) << unknown.output;
  const Ended large = run("$W bench allreduce --ranks 2 --algorithm slots --min 1K --max 4K");
  EXPECT_EQ(large.code, 2);
  EXPECT_TRUE(contains(large.output, "slots applies to none of these sizes")) << large.output;
}

TEST(Program, bench_measures_single_algorithms_on_mpi) {
  WEFT_SKIP_WITHOUT_MPI();
  const std::string bench = "$W bench allreduce --min 128 --max 8K --factor 64 --iters 2 ";
  const std::string job = mpiexec + " -n 3 " + bench + "--algorithm ";
  expect_right(job + "all");
  EXPECT_EQ(column(rows_of(run(job + "all").output), 5),
            (std::vector<std::string>{"inline", "one_shot", "two_shot", "one_shot", "two_shot"}));
  EXPECT_TRUE(contains(run(job + "beneath").output, "WEFT_ORDER=any allows it"));
  expect_right("export WEFT_ORDER=any; " + job + "beneath");
  EXPECT_TRUE(contains(run("export WEFT_FAST=0; " + job + "all").output, "one algorithm only"));
}

TEST(Program, bench_delays_ranks_and_misaligns_buffers) {
  expect_right("$W bench allreduce --ranks 2 --max 2K --iters 2 --misalign 4 --algorithm all");
  expect_right("$W bench all_gather --ranks 2 --max 2K --iters 2 --misalign 20 --skew 10");
  // The delay of 20 ms is no part of the time.
  const json results =
      results_of("", "allreduce --ranks 2 --max 8 --iters 3 --skew 20000 --in-place no");
  EXPECT_EQ(results.at("skew_us"), 20000);
  const double time_us = results.at("rows")[0].at("out_of_place").at("time_us");
  EXPECT_GT(time_us, 0);
  EXPECT_LT(time_us, 15000);
}

TEST(Program, tune_writes_a_table_that_is_used) {
  const std::string file = testing::TempDir() + "weft_program_test_table.json";
  const Ended ended =
      run(fmt::format("$W bench tune --ranks 2 --min 64 --max 4K --iters 20 --json '{}'", file));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_TRUE(contains(ended.output, "# table of place thread for 2 ranks:")) << ended.output;
  std::ifstream stream(file);
  const json table = json::parse(stream);
  EXPECT_EQ(table.at("format"), "weft allreduce table");
  EXPECT_EQ(table.at("version"), 1);
  const json& rows = table.at("rows");
  ASSERT_FALSE(rows.empty());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("place"), "thread");
    EXPECT_EQ(rows[i].at("ranks"), 2);
    if (i == 0) continue;
    EXPECT_NE(rows[i].at("algorithm"), rows[i - 1].at("algorithm"));
    EXPECT_TRUE(rows[i].at("up_to").is_null() || rows[i].at("up_to") > rows[i - 1].at("up_to"));
  }
  EXPECT_TRUE(rows.back().at("up_to").is_null());
  EXPECT_EQ(rows.back().at("algorithm"), "slices");  // the only one for the largest size
  expect_right(
      fmt::format("WEFT_TABLE='{}' $W bench allreduce --ranks 2 --max 4K --iters 2", file));
  std::remove(file.c_str());
}

TEST(Program, bench_compares_with_bare_calls_of_mpi) {
  WEFT_SKIP_WITHOUT_MPI();
  const json results =
      results_of(mpiexec + " -n 2",
                 "allreduce --min 8K --max 128K --factor 16 --iters 2 --warmup 1 --compare raw");
  EXPECT_EQ(results.at("compared_with"), "MPI");
  for (const json& row : results.at("rows")) {
    for (const char* form : {"out_of_place", "in_place"}) {
      const json& cell = row.at(form);
      expect_consistent(row, cell, 1);
      EXPECT_GT(cell.at("raw_time_us"), 0);
      EXPECT_GT(cell.at("ratio"), 0);
      EXPECT_TRUE(cell.at("difference_us").is_number());
    }
  }
  EXPECT_GT(results.at("worst_ratio_large"), 0);
  EXPECT_TRUE(results.at("worst_difference_small_us").is_number());
}

}  // namespace
