// Runs `weft sparse-bench` as a program.

#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "support/shell.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <string>

namespace {

using namespace weft;
using nlohmann::json;
using test::Ended;

Ended run(const std::string& options, const std::string& launcher = "",
          const char* variables = "") {
  const std::string setup =
      fmt::format("export WEFT_QUIET=1 OMP_NUM_THREADS=1 {}; W='timeout 30 {} sparse-bench'",
                  variables, WEFT_TEST_APP);
  return test::run_shell(setup, launcher + " $W " + options);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The JSON that a run writes.
json results_of(const std::string& options, const std::string& launcher = "", int code = 0) {
  const std::string file = testing::TempDir() + "weft_sparse_bench_test.json";
  const Ended ended = run(fmt::format("{} --json '{}'", options, file), launcher);
  EXPECT_EQ(ended.code, code) << ended.output;
  std::ifstream stream(file);
  const json results = json::parse(stream, nullptr, false);
  std::remove(file.c_str());
  EXPECT_FALSE(results.is_discarded()) << ended.output;
  return results;
}

TEST(SparseBenchProgram, help_has_a_line_for_each_option) {
  const Ended ended = run("--help");
  EXPECT_EQ(ended.code, 0);
  for (const char* option :
       {"--check", "--trace", "--tables", "--algorithm", "--n ", "--density", "--dtype",
        "--exchange", "--selector", "--partition", "--balance", "--groups", "--calls", "--warmup",
        "--compare", "--bar", "--json", "--ranks", "--device"}) {
    EXPECT_TRUE(contains(ended.output, option)) << option << "\n" << ended.output;
  }
}

TEST(SparseBenchProgram, unknown_names_are_refused_with_those_that_exist) {
  const Ended algorithm = run("--algorithm okaytopk");
  EXPECT_EQ(algorithm.code, 2);
  for (const std::string& name : sparse_algorithms()) {
    EXPECT_TRUE(contains(algorithm.output, name)) << name << "\n" << algorithm.output;
  }
  const Ended selector = run("--selector best");
  EXPECT_EQ(selector.code, 2);
  for (const std::string& name : sparse_selectors()) {
    EXPECT_TRUE(contains(selector.output, name)) << name << "\n" << selector.output;
  }
  EXPECT_TRUE(contains(run("--dtype f8").output, "use f32, f64, f16, bf16 or all"));
  EXPECT_TRUE(contains(run("--exchange all_to_all").output, "use exact, slots or all"));
  EXPECT_TRUE(contains(run("--partition even").output, "use equal, quantile, block_cyclic\n"));
  const Ended groups = run("--groups 2,9 --ranks 3");
  EXPECT_EQ(groups.code, 2);
  EXPECT_TRUE(contains(groups.output, "--groups 9, but there are 3 ranks")) << groups.output;
}

TEST(SparseBenchProgram, check_passes_on_threads) {
  for (const char* how : {"--ranks 1", "--ranks 3", "--ranks 4"}) {
    const Ended ended = run(fmt::format("--check --n 1003 {}", how));
    EXPECT_EQ(ended.code, 0) << ended.output;
    EXPECT_TRUE(contains(ended.output, "# 88 of 88 passed\n")) << ended.output;
    EXPECT_FALSE(contains(ended.output, "FAILED")) << ended.output;
  }
  const Ended device = run("--check --n 503 --ranks 2 --device debug --algorithm topkSA,oktopk");
  EXPECT_EQ(device.code, 0) << device.output;
  EXPECT_TRUE(contains(device.output, "# 16 of 16 passed\n")) << device.output;
}

TEST(SparseBenchProgram, check_passes_on_mpi) {
  WEFT_SKIP_WITHOUT_MPI();
  const std::string job = WEFT_MPIEXEC + std::string(" -n 2");
  const json results = results_of("--check --n 1003 --algorithm oktopk,gtopk", job);
  EXPECT_EQ(results.at("transport"), "mpi");
  EXPECT_EQ(results.at("failures"), 0);
  ASSERT_EQ(results.at("checks").size(), 3U * 4);
  for (const json& row : results.at("checks")) EXPECT_EQ(row.at("passed"), true) << row;
}

TEST(SparseBenchProgram, words_agree_with_formulas_in_groups_of_ranks) {
  const json results =
      results_of("--tables words --ranks 5 --groups 1,2,5 --n 3001 --density 0.03 --exchange all");
  EXPECT_EQ(results.at("failures"), 0);
  ASSERT_EQ(results.at("words").size(), 3U * 22);
  for (const json& row : results.at("words")) {
    EXPECT_EQ(row.at("mismatches"), 0) << row;
    EXPECT_EQ(row.at("comm_bytes_agree"), true) << row;
    EXPECT_EQ(row.at("conservation_error"), 0) << row;
    EXPECT_GT(row.at("scratch_bytes_per_element"), 8) << row;
    EXPECT_EQ(row.at("formula_is_bound"), false) << row;
    EXPECT_EQ(row.at("words"), row.at("formula")) << row;
    EXPECT_EQ(row.at("words") > 0, row.at("ranks") > 1) << row;
  }
  const json& dense = results.at("words")[22];
  EXPECT_EQ(dense.at("algorithm"), "dense");
  EXPECT_EQ(dense.at("ranks"), 2);
  EXPECT_EQ(dense.at("words"), 3001);
  EXPECT_TRUE(dense.at("imbalance").is_null());
}

TEST(SparseBenchProgram, balance_and_partitions_change_words_and_owners) {
  const auto row_of = [](const std::string& options) {
    return results_of("--tables words --ranks 4 --n 8000 --algorithm oktopk " + options)
        .at("words")[0];
  };
  const json equal = row_of("--partition equal");
  const json quantile = row_of("--partition quantile");
  const json balanced = row_of("--partition equal --balance on");
  // Half of the eighths of a tensor have large elements: the first of each half.
  EXPECT_GT(equal.at("imbalance"), 1.5);
  EXPECT_LT(quantile.at("imbalance"), 1.3);
  EXPECT_GT(balanced.at("comm_bytes"), equal.at("comm_bytes"));
  EXPECT_LT(balanced.at("words"), equal.at("words"));  // of the rank that had to gather the most
  EXPECT_EQ(balanced.at("mismatches"), 0);
}

TEST(SparseBenchProgram, times_have_phases_and_a_bar) {
  const std::string options =
      "--tables times --ranks 2 --n 4K --calls 2 --algorithm oktopk --device debug ";
  const json results = results_of(options);
  ASSERT_EQ(results.at("times").size(), 1U);
  const json& row = results.at("times")[0];
  EXPECT_EQ(row.at("ran"), "oktopk");
  for (const char* name : {"time_us", "mean_time_us", "dense_us", "dense_ratio"}) {
    EXPECT_GT(row.at(name), 0) << name;
  }
  for (const char* phase : {"select", "split", "reduce", "reselect", "gather", "scatter"}) {
    EXPECT_GT(row.at("phases_us").at(phase), 0) << phase;
  }
  EXPECT_FALSE(row.contains("raw_us"));
  EXPECT_FALSE(row.contains("bar"));
  const Ended missed = run(options + "--bar 1e-9");
  EXPECT_EQ(missed.code, 1);
  EXPECT_TRUE(contains(missed.output, "MISSED")) << missed.output;
  EXPECT_EQ(results_of(options + "--bar 1e9").at("times")[0].at("bar"), 1e9);
}

TEST(SparseBenchProgram, times_are_compared_with_the_bare_call_of_mpi) {
  WEFT_SKIP_WITHOUT_MPI();
  const std::string options = "--tables times --n 2K --calls 2 --algorithm topkA --compare raw ";
  const json results = results_of(options + "--dtype f32,f16", WEFT_MPIEXEC + std::string(" -n 2"));
  EXPECT_EQ(results.at("compared_with"), "MPI");
  EXPECT_GT(results.at("times")[0].at("raw_us"), 0);
  EXPECT_GT(results.at("times")[0].at("raw_ratio"), 0);
  EXPECT_FALSE(results.at("times")[1].contains("raw_us"));  // MPI has no f16
  const Ended threads = run(options + "--ranks 2");
  EXPECT_EQ(threads.code, 0);
  EXPECT_TRUE(contains(threads.output, "# compared with: no bare call")) << threads.output;
}

TEST(SparseBenchProgram, selection_is_compared_with_a_copy) {
  const json results =
      results_of("--tables selection --ranks 2 --n 1K,70000 --density 0.01,0.1 --calls 2");
  ASSERT_EQ(results.at("selection").size(), 4 * sparse_selectors().size());
  for (const json& row : results.at("selection")) {
    for (const char* name : {"time_us", "copy_us", "ratio", "gbs", "copy_gbs", "selected_by_k"}) {
      EXPECT_GT(row.at(name), 0) << name << " in " << row;
    }
    const double bytes = 12 * row.at("n").get<double>();
    EXPECT_NEAR(row.at("gbs").get<double>() * row.at("time_us").get<double>() * 1e3, bytes,
                1e-6 * bytes);
  }
}

TEST(SparseBenchProgram, trace_shows_what_calls_did) {
  const json results =
      results_of("--trace --ranks 2 --n 2000 --calls 2 --algorithm oktopk,auto --exchange all");
  ASSERT_EQ(results.at("trace").size(), 8U);
  const json& first = results.at("trace")[0];
  EXPECT_EQ(first.at("path"), "oktopk");
  EXPECT_EQ(first.at("exchange_of_call"), "exact");
  EXPECT_EQ(first.at("route"), "thread");
  EXPECT_EQ(first.at("exact_global"), true);
  EXPECT_GT(first.at("local_threshold"), 0);
  EXPECT_EQ(first.at("selected"), 20);
  EXPECT_EQ(first.at("result"), 20);
  const json& slots = results.at("trace")[3];
  EXPECT_EQ(slots.at("exchange_of_call"), "slots");
  EXPECT_EQ(slots.at("call"), 1);
  EXPECT_EQ(slots.at("capacity"), 15);  // 1.5 k / 2
  const json& dense = results.at("trace")[4];
  EXPECT_EQ(dense.at("algorithm"), "auto");
  EXPECT_EQ(dense.at("path"), "dense");  // for so few elements
  EXPECT_EQ(dense.at("exchange_of_call"), "-");
  EXPECT_EQ(dense.at("dense_words"), 2000);
}

}  // namespace
