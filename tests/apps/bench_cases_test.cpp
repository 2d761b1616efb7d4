#include "bench/cases.hpp"

#include <weft/core/error.hpp>

#include "bench/algorithms.hpp"
#include "bench/options.hpp"
#include "bench/results.hpp"
#include "bench/timing.hpp"
#include "bench/world.hpp"

#include <gtest/gtest.h>

#include <map>

namespace {

using namespace weft;
using namespace weft::bench;

TEST(BenchCases, are_found_by_name) {
  for (const Case& each : all_cases()) EXPECT_EQ(&find_case(each.name), &each);
  EXPECT_EQ(all_cases().size(), 12U);
  EXPECT_THROW(find_case("allreduces"), ArgumentError);
}

TEST(BenchCases, have_the_factors_of_their_traffic) {
  const std::map<std::string_view, double> on_four = {
      {"allreduce", 1.5},   {"reduce", 1},        {"reduce_scatter", 0.75},
      {"all_gather", 0.75}, {"broadcast", 1},     {"gather", 0.75},
      {"scatter", 0.75},    {"all_to_all", 0.75}, {"all_to_all_v", 0.75},
      {"sendrecv", 1},      {"halo", 1},          {"redistribute", 0.75},
  };
  for (const Case& each : all_cases()) {
    EXPECT_DOUBLE_EQ(each.factor(4), on_four.at(each.name)) << each.name;
    EXPECT_EQ(each.factor(1), on_four.at(each.name) == 1 ? 1 : 0) << each.name;
  }
}

/// The largest number of input or output elements of a rank.
index_t most_elements(const Case& each, Where at) {
  index_t most = 0;
  for (at.rank = 0; at.rank < at.ranks; ++at.rank) {
    const Plan plan = each.plan(at);
    most = std::max({most, count_of(plan.in), count_of(plan.out)});
  }
  return most;
}

TEST(BenchCases, have_the_bytes_of_the_busiest_rank) {
  for (const Case& each : all_cases()) {
    if (each.kind == Kind::halo) continue;  // most of the array is not sent
    for (const int ranks : {1, 2, 3, 4, 7}) {
      Where at{0, ranks, 0, 4200, DType::f32, ReduceOp::sum};
      const Plan plan = each.plan(at);
      EXPECT_EQ(plan.bytes, most_elements(each, at) * 4) << each.name << " " << ranks;
      EXPECT_LE(plan.bytes, 4200);
      EXPECT_GT(plan.bytes, 3900) << each.name << " " << ranks;
    }
  }
}

TEST(BenchCases, have_at_least_one_element) {
  for (const Case& each : all_cases()) {
    const Plan plan = each.plan({0, 4, 0, 1, DType::c128, ReduceOp::sum});
    EXPECT_GT(plan.count, 0) << each.name;
    EXPECT_GT(plan.bytes, 0) << each.name;
  }
}

// Options

OptionTexts texts_for(const std::string& what) {
  OptionTexts texts;
  texts.what = what;
  return texts;
}

TEST(BenchOptions, all_skips_invalid_pairs) {
  OptionTexts texts = texts_for("allreduce");
  texts.dtypes = {"c64"};
  texts.ops = {"all"};
  EXPECT_EQ(parse_options(texts).types.size(), 3U);  // sum, prod, avg
  texts.dtypes = {"all"};
  texts.ops = {"max"};
  EXPECT_EQ(parse_options(texts).types.size(), 12U);
  EXPECT_EQ(parse_options(texts_for("halo")).types.size(), 1U);
  texts = texts_for("halo");
  texts.dtypes = {"all"};
  EXPECT_EQ(parse_options(texts).types.size(), 4U);
}

TEST(BenchOptions, select_the_measured_forms) {
  EXPECT_TRUE(parse_options(texts_for("reduce")).wants(Form::in_place));
  EXPECT_TRUE(parse_options(texts_for("reduce")).wants(Form::out_of_place));
  EXPECT_FALSE(parse_options(texts_for("broadcast")).wants(Form::out_of_place));
  EXPECT_FALSE(parse_options(texts_for("sendrecv")).wants(Form::in_place));
  OptionTexts texts = texts_for("reduce");
  texts.in_place = "no";
  EXPECT_FALSE(parse_options(texts).wants(Form::in_place));
}

TEST(BenchOptions, of_tune_are_those_of_allreduce) {
  OptionTexts texts = texts_for("tune");
  texts.json = "table.json";
  const Options options = parse_options(texts);
  EXPECT_EQ(options.what->name, "allreduce");
  EXPECT_EQ(options.algorithm, "all");
  EXPECT_EQ(options.sizes.front(), 8);
  EXPECT_EQ(options.sizes.back(), 16 << 20);
  EXPECT_EQ(parse_options(texts_for("allreduce")).sizes.back(), 32 << 20);
}

// Results

Row timed_row(index_t bytes, std::string_view algorithm, double time_us) {
  Row row;
  row.bytes = bytes;
  row.algorithm = algorithm;
  row.out_of_place = make_cell(time_us * 1e-6, bytes, 1);
  row.in_place = row.out_of_place;
  return row;
}

TEST(BenchResults, become_limits) {
  using detail::AllreduceAlgorithm;
  using detail::AllreduceLimit;
  const detail::AllreduceTeam team = {detail::AllreducePlace::process, 4};
  const std::vector<Row> rows = {timed_row(8, "inline", 1),      timed_row(8, "one_shot", 2),
                                 timed_row(8, "two_shot", 3),    timed_row(64, "inline", 1.5),
                                 timed_row(64, "one_shot", 2),   timed_row(64, "two_shot", 3),
                                 timed_row(512, "one_shot", 4),  timed_row(512, "two_shot", 3),
                                 timed_row(4096, "one_shot", 9), timed_row(4096, "two_shot", 5)};
  const std::vector<AllreduceLimit> expected = {
      {team.place, 4, 64, AllreduceAlgorithm::in_line},
      {team.place, 4, AllreduceLimit::unlimited, AllreduceAlgorithm::two_shot}};
  EXPECT_EQ(tuned_limits(team, rows), expected);
  EXPECT_EQ(limits_text(expected),
            "# table of place process for 4 ranks:\n#   to 64      inline\n#   above      "
            "two_shot\n");
}

TEST(BenchResults, of_several_rounds_keep_the_faster_time_and_all_wrong_values) {
  std::optional<Cell> cell = make_cell(2e-6, 8, 1);
  cell->wrong = 1;
  std::optional<Cell> faster = make_cell(1e-6, 8, 1);
  faster->wrong = 2;
  keep_faster(cell, faster);
  EXPECT_DOUBLE_EQ(cell->time_us, 1);
  EXPECT_EQ(cell->wrong, 3);
  keep_faster(cell, make_cell(5e-6, 8, 1));
  EXPECT_DOUBLE_EQ(cell->time_us, 1);
  EXPECT_EQ(cell->wrong, 3);
}

TEST(BenchResults, bandwidths_are_in_billions_of_bytes) {
  const Cell cell = make_cell(2e-3, 4'000'000, 1.5);
  EXPECT_DOUBLE_EQ(cell.time_us, 2000);
  EXPECT_DOUBLE_EQ(cell.algbw, 2);
  EXPECT_DOUBLE_EQ(cell.busbw, 3);
}

TEST(BenchResults, are_summarized) {
  Cell small = make_cell(1e-6, 8, 1);
  small.wrong = 2;
  small.raw = RawTimes{0.5, 2, 0.5};
  Cell large = make_cell(1e-3, 1 << 20, 1);
  large.wrong = 3;
  large.raw = RawTimes{1010, 0.99, -10};
  Row first;
  first.bytes = 8;
  first.out_of_place = small;
  Row second;
  second.bytes = 1 << 20;
  second.in_place = large;
  const Summary summary = summarize({first, second});
  EXPECT_EQ(summary.wrong, 5);
  EXPECT_DOUBLE_EQ(summary.average_busbw, (small.busbw + large.busbw) / 2);
  EXPECT_EQ(summary.worst_ratio_large, 0.99);
  EXPECT_EQ(summary.worst_difference_small_us, 0.5);
  EXPECT_FALSE(summarize({}).worst_ratio_large.has_value());
}

TEST(BenchResults, medians) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 9}), 3);
}

TEST(BenchResults, paired_times) {
  double next = 0;
  const PairedTimes times = time_in_turn(
      3, [&] { return next += 2; }, [] { return 4; });
  EXPECT_EQ(times.ours, (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(times.ratio(), 1);
  EXPECT_EQ(times.difference(), 0);
}

TEST(BenchWorld, describes_how_devices_are_shared) {
  const std::vector<RankFacts> ranks = {
      {"a", 1, "cuda:0", "X", "01"}, {"a", 2, "cuda:0", "X", "01"}, {"b", 3, "cuda:0", "X", "01"}};
  EXPECT_EQ(distinct_devices(ranks), 2);
  EXPECT_EQ(sharing_text(ranks, DeviceKind::cuda), "3 ranks share 2 GPUs");
  EXPECT_EQ(sharing_text({ranks[0], ranks[2]}, DeviceKind::cuda), "one GPU per rank");
  EXPECT_EQ(sharing_text({{"a", 1, "cpu", "X", ""}}, DeviceKind::cpu), "1 rank on 1 host");
}

}  // namespace
