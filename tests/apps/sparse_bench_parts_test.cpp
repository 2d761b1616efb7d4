#include "sparse_bench/formulas.hpp"
#include "sparse_bench/laws.hpp"
#include "sparse_bench/options.hpp"
#include "sparse_bench/results.hpp"
#include "sparse_bench/table.hpp"
#include "sparse_bench/tensor.hpp"

#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace {

using namespace weft;
using namespace weft::sparse_bench;

// Options

TEST(SparseBenchParts, options_have_defaults) {
  const Options options = parse_options({});
  EXPECT_EQ(options.algorithms, sparse_algorithms());
  EXPECT_EQ(options.sizes, (std::vector<index_t>{1 << 20}));
  EXPECT_EQ(options.densities, (std::vector<double>{0.01}));
  EXPECT_EQ(options.dtypes, (std::vector<DType>{DType::f32}));
  EXPECT_EQ(options.exchanges, (std::vector<SparseExchange>{SparseExchange::exact}));
  EXPECT_TRUE(options.measures_words && options.measures_times && options.measures_selection);
}

TEST(SparseBenchParts, check_covers_all_types_and_exchanges) {
  OptionTexts texts;
  texts.checks = true;
  const Options options = parse_options(texts);
  EXPECT_EQ(options.dtypes.size(), 4U);
  std::map<std::string, std::set<SparseExchange>> exchanges;
  for (const Case& at : cases_of(options)) exchanges[at.algorithm].insert(at.exchange);
  EXPECT_EQ(exchanges.size(), sparse_algorithms().size());
  for (const auto& [algorithm, of_it] : exchanges) {
    EXPECT_EQ(of_it.size(), algorithm == "dense" || algorithm == "gtopk" ? 1U : 2U) << algorithm;
  }
}

TEST(SparseBenchParts, options_take_lists) {
  OptionTexts texts;
  texts.algorithms = {"oktopk,topkA", "dense"};
  texts.sizes = {"1000,64K"};
  texts.densities = {"0.5,1"};
  texts.dtypes = {"f16"};
  texts.exchanges = {"all"};
  texts.groups = {"2,4"};
  texts.tables = {"words"};
  texts.partition = "block_cyclic";
  texts.balance = "on";
  const Options options = parse_options(texts);
  EXPECT_EQ(options.algorithms, (std::vector<std::string>{"oktopk", "topkA", "dense"}));
  EXPECT_EQ(options.sizes, (std::vector<index_t>{1000, 65536}));
  EXPECT_EQ(options.groups, (std::vector<int>{2, 4}));
  EXPECT_FALSE(options.measures_times);
  EXPECT_EQ(cases_of(options).size(), 2U * 2 * 5);
  const SparseOptions sparse = sparse_options(options, cases_of(options)[0], Device::debug());
  EXPECT_EQ(sparse.algorithm, "oktopk");
  EXPECT_EQ(sparse.density, 0.5);
  EXPECT_EQ(sparse.device, Device::debug());
  EXPECT_EQ(sparse.oktopk.partition, SparsePartition::block_cyclic);
  EXPECT_EQ(sparse.oktopk.balance, SparseBalance::on);
}

// Formulas. The counts are made up; sparse_words_test.cpp compares reports with simulations.

CallCounts counts_of_four(int rank) {
  CallCounts counts;
  counts.rank = rank;
  counts.ranks = 4;
  counts.n = 1002;
  counts.k = 20;
  counts.selected = {20, 21, 22, 23};
  counts.sent = {1, 2, 3, 14};
  counts.owned = {10, 0, 6, 4};
  counts.in_union = 30;
  return counts;
}

index_t words(const std::string& algorithm, const CallCounts& counts) {
  return words_by_formula(algorithm, counts).words;
}

TEST(SparseBenchParts, formulas_of_gathers_count_the_pairs_of_others) {
  for (const char* name : {"topk", "topkA", "topkA2", "topkAopt", "gaussiank", "gaussiankconcat"}) {
    EXPECT_EQ(words(name, counts_of_four(0)), 2 * (21 + 22 + 23)) << name;
    EXPECT_EQ(words(name, counts_of_four(2)), 2 * (20 + 21 + 23)) << name;
  }
  CallCounts slots = counts_of_four(0);
  slots.capacity = 22;
  EXPECT_EQ(words("topkA", slots), 2 * (21 + 22 + 22));
}

TEST(SparseBenchParts, formulas_of_owners_count_what_they_do_not_own) {
  const CallCounts counts = counts_of_four(2);
  for (const char* name : {"topkSA", "gaussiankSA", "oktopk"}) {
    EXPECT_EQ(words(name, counts), 2 * (1 + 2 + 14) + 2 * (10 + 0 + 4)) << name;
    CallCounts slots = counts;
    slots.capacity = 5;  // of which the owned pairs already are
    EXPECT_EQ(words(name, slots), 2 * (1 + 2 + 5) + 2 * (10 + 0 + 4)) << name;
  }
  CallCounts many = counts;
  many.in_union = 501;
  EXPECT_EQ(words("topkSA", many), 2 * (1 + 2 + 14) + 1002 - 250);  // region 501, ..., 750
  EXPECT_EQ(words("oktopk", many), words("oktopk", counts));
}

TEST(SparseBenchParts, formula_of_balancing_counts_the_excess) {
  // Pairs 0-9, none, 10-15 and 16-19 become 0-4, 5-9, 10-14 and 15-19.
  const index_t sent[] = {5, 0, 1, 0};
  for (int rank = 0; rank < 4; ++rank) {
    CallCounts counts = counts_of_four(rank);
    counts.balanced = true;
    const index_t split = 2 * (20 - counts.sent[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(words("oktopk", counts), split + 2 * sent[rank] + 2 * (20 - 5)) << rank;
  }
}

TEST(SparseBenchParts, formula_of_the_tree_counts_messages) {
  // Messages of the tree that ranks 0 to 4 of 5 send or receive: 3 <- (1, 2, 4), 1, 2, 1, 1.
  const index_t messages[] = {3, 1, 2, 1, 1};
  for (int rank = 0; rank < 5; ++rank) {
    CallCounts counts;
    counts.rank = rank;
    counts.ranks = 5;
    counts.k = 7;
    counts.selected = {7, 7, 7, 7, 7};
    const WordCount formula = words_by_formula("gtopk", counts);
    EXPECT_EQ(formula.words, 2 * 7 * (messages[rank] + 1)) << rank;
    EXPECT_FALSE(formula.is_bound);
    counts.selected[4] = 9;
    EXPECT_TRUE(words_by_formula("gtopk", counts).is_bound);
    EXPECT_EQ(words("gtopk", counts), 2 * 9 * (messages[rank] + 1)) << rank;
  }
}

TEST(SparseBenchParts, formula_of_dense) {
  EXPECT_EQ(words("dense", counts_of_four(1)), 2 * 1002 * 3 / 4);
}

TEST(SparseBenchParts, every_algorithm_has_a_formula) {
  for (const std::string& name : sparse_algorithms()) {
    if (name == "auto") continue;  // it reports the algorithm that it has chosen
    EXPECT_GT(words(name, counts_of_four(1)), 0) << name;
  }
  EXPECT_THROW(words("dance", counts_of_four(1)), ArgumentError);
}

TEST(SparseBenchParts, a_call_with_other_words_than_its_formula_is_found) {
  test::on_ranks([](const Comm& comm) {
    Case at{"topkA", SparseExchange::exact, DType::f32, 1000, 0.02};
    SparseAllreduce reduce(comm, at.n, sparse_options(parse_options({}), at, Device::cpu()));
    Tensor tensor(at.n, at.dtype, Device::cpu());
    tensor.write([&](index_t i) { return gradient_at(comm.rank(), 0, at.n, i); });
    reduce.run(tensor.ref(), tensor.ref());
    CallCounts counts;
    counts.rank = comm.rank();
    counts.ranks = comm.size();
    counts.selected.assign(static_cast<std::size_t>(comm.size()), 20);
    const WordCount formula = words_by_formula("topkA", counts);
    const index_t counted = reduce.report().words();
    EXPECT_TRUE(formula.admits(counted));
    EXPECT_FALSE(formula.admits(counted + 1));
    EXPECT_FALSE(formula.admits(counted - 1));
  });
  EXPECT_TRUE((WordCount{10, true}).admits(8));
  EXPECT_FALSE((WordCount{10, true}).admits(11));
}

// Results

TEST(SparseBenchParts, violations_are_failures) {
  Results results;
  results.words.resize(5);
  results.words[1].mismatches = 2;
  results.words[2].bytes_agree = false;
  results.words[3].conservation_error = 0.5;
  results.words[4].conservation_error = 0;
  EXPECT_EQ(results.failures(0), 3);
  EXPECT_NE(row_text(results.words[1]).find("MISMATCH in 2 calls"), std::string::npos);
  EXPECT_NE(row_text(results.words[2]).find("MISMATCH of bytes"), std::string::npos);
  EXPECT_NE(row_text(results.words[3]).find("NOT CONSERVED"), std::string::npos);
  EXPECT_EQ(row_text(results.words[4]).find("MISMATCH"), std::string::npos);

  results.checks = {{{"dense"}, ""}, {{"topkA"}, "results of call 0 differ between ranks"}};
  EXPECT_EQ(results.failures(0), 4);
  const std::string text = row_text(std::span(results.checks).last(1));
  EXPECT_NE(text.find("FAILED\n  f32: results of call 0 differ"), std::string::npos) << text;
}

TEST(SparseBenchParts, the_bar_is_for_the_bare_call_if_there_is_one) {
  TimesRow row;
  row.dense.ratio = 0.4;
  EXPECT_FALSE(row.misses(0.5));
  EXPECT_TRUE(row.misses(0.3));
  row.raw = Baseline{1, 0.6};
  EXPECT_TRUE(row.misses(0.5));
  EXPECT_FALSE(row.misses(0));  // there is none
  Results results;
  results.times = {row};
  EXPECT_EQ(results.failures(0.5), 1);
  EXPECT_NE(row_text(row, true, 0.5).find("MISSED"), std::string::npos);
}

// Laws and data

TEST(SparseBenchParts, losses_are_found) {
  test::on_ranks([](const Comm& comm) {
    const double ranks = comm.size();
    const std::vector<double> mine = {4, -1};
    const std::vector<double> residual = {1, 0};
    EXPECT_EQ(conservation_error(comm, mine, {3 * ranks, -ranks}, residual), 0);
    EXPECT_EQ(conservation_error(comm, mine, {3 * ranks, -ranks - 2}, residual), 2);
    const double nan = std::nan("");
    EXPECT_EQ(conservation_error(comm, mine, {nan, -ranks}, residual),
              std::numeric_limits<double>::infinity());
    EXPECT_TRUE(same_on_all_ranks(comm, std::vector<std::byte>(7)));
    std::vector<std::byte> bytes(7);
    bytes[3] = static_cast<std::byte>(comm.rank() == 1 ? 1 : 0);
    EXPECT_EQ(same_on_all_ranks(comm, bytes), comm.size() == 1);
  });
}

TEST(SparseBenchParts, gradients_are_integers_that_differ) {
  constexpr index_t n = 4000;
  double sum = 0;
  int equal = 0;
  double largest = 0;
  for (index_t i = 0; i < n; ++i) {
    const double x = gradient_at(0, 0, n, i);
    EXPECT_EQ(x, std::round(x));
    EXPECT_EQ(x, gradient_at(0, 0, n, i));
    sum += x;
    largest = std::max(largest, std::abs(x));
    if (x == gradient_at(1, 0, n, i)) ++equal;
    if (x == gradient_at(0, 1, n, i)) ++equal;
  }
  EXPECT_LT(std::abs(sum / n), 20);
  EXPECT_GT(largest, 1200);
  EXPECT_LE(largest, 2046);
  EXPECT_LT(equal, 100);
}

TEST(SparseBenchParts, sums_of_small_integers_are_exact_in_every_type) {
  for (const int ranks : {1, 3, 16, 256, 1000}) {
    double largest = 0;
    for (index_t i = 0; i < 1000; ++i) {
      const double x = small_integer_at(ranks - 1, ranks, 0, i);
      EXPECT_EQ(x, std::round(x));
      largest = std::max(largest, std::abs(x));
    }
    EXPECT_GE(largest, 1);
    EXPECT_LE(largest * std::min(ranks, 256), 256);
  }
}

TEST(SparseBenchParts, tensors_hold_numbers_of_their_type) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const Device device : {Device::cpu(), Device::debug()}) {
      Tensor tensor(3, dtype, device);
      tensor.write([](index_t i) { return 1.0 + static_cast<double>(i) / 4; });
      EXPECT_EQ(numbers_in(tensor.ref()), (std::vector<double>{1, 1.25, 1.5}));
      EXPECT_EQ(bytes_of(tensor.ref()).size(), static_cast<std::size_t>(3 * size_of(dtype)));
    }
  }
}

}  // namespace
