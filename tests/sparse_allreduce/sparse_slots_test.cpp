#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/support/gradients.hpp"
#include "sparse_allreduce/support/options.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::test {
namespace {

constexpr index_t n = 420;
constexpr double density = 0.05;

SparseOptions in_slots(const std::string& algorithm, index_t capacity, DType dtype = DType::f32) {
  SparseOptions options = summing(algorithm, density, dtype);
  options.exchange = SparseExchange::slots;
  options.capacity = capacity;
  return options;
}

TEST(SparseSlots, that_hold_everything_are_exact_messages) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : sparse_algorithms()) {
      SCOPED_TRACE(algorithm);
      SparseAllreduce slots(comm, n, in_slots(algorithm, n));
      SparseAllreduce exact(comm, n, summing(algorithm, density));
      for (int step = 0; step < 6; ++step) {
        const std::vector<double> gradient = integers(comm.rank(), step, n);
        EXPECT_EQ(run_checked<float>(comm, slots, gradient),
                  run_checked<float>(comm, exact, gradient));
        EXPECT_EQ(residual_of(slots, n, DType::f32), residual_of(exact, n, DType::f32));
        EXPECT_EQ(slots.report().overflow, 0);
        EXPECT_EQ(slots.report().split_words, exact.report().split_words);
      }
    }
  });
}

TEST(SparseSlots, conserve_what_does_not_fit) {
  on_ranks([](Comm comm) {
    index_t overflow = 0;
    for (const std::string& algorithm : sparse_algorithms()) {
      if (algorithm == "dense") continue;
      for (const index_t capacity : {0, 1, 3}) {
        for (const auto partition : {SparsePartition::quantile, SparsePartition::block_cyclic}) {
          SCOPED_TRACE(algorithm + " " + std::to_string(capacity));
          SparseOptions options = in_slots(algorithm, capacity);
          options.oktopk.partition = partition;
          options.oktopk.block = 7;
          SparseAllreduce reduce(comm, n, options);
          options.dtype = DType::bf16;
          SparseAllreduce rounding(comm, n, options);
          for (int step = 0; step < 8; ++step) {
            run_checked<float>(comm, reduce, integers(comm.rank(), step, n));
            overflow += reduce.report().overflow;
            run_checked<BFloat16>(comm, rounding, integers(comm.rank(), step, n));
          }
        }
      }
    }
    EXPECT_GT(overflow, 0);
  });
}

/// Equal magnitudes in one region: without rotation the same elements would win every time.
TEST(SparseSlots, every_index_has_its_turn) {
  on_ranks([](Comm comm) {
    SparseOptions options = in_slots("oktopk", 2);
    options.density = 1;
    SparseAllreduce reduce(comm, 40, options);
    Tensor<float> zeros{std::vector<float>(40)};
    Tensor<float> out{std::vector<float>(40)};
    run_checked<float>(comm, reduce, std::vector<double>(40, 1.0));
    for (int step = 0; step < 40; ++step) reduce.run(zeros.ref(), out.ref());
    EXPECT_EQ(sum_over_ranks(comm, residual_of(reduce, 40, DType::f32)), std::vector<double>(40));
  });
}

/// Two ranks select different indices in turn, again and again. Their owner has room for half of
/// the sums, and must not choose in step with them.
TEST(SparseSlots, every_sum_has_its_turn) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    const index_t size = 8 * comm.size();
    SparseOptions options = in_slots("oktopk", 2);
    options.density = 0.5;
    options.selector = "exact";
    options.oktopk.global_period = 1;
    options.oktopk.partition = SparsePartition::equal;
    SparseAllreduce reduce(comm, size, options);
    std::vector<double> gradient;
    for (index_t i = 0; i < size; ++i) gradient.push_back(i / 4 % 2 == comm.rank() % 2 ? 1 : 0);
    std::vector<double> seen(gradient.size());
    for (int step = 0; step < 100; ++step) {
      const std::vector<double> result = run_checked<float>(comm, reduce, gradient);
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += result[i];
    }
    for (index_t i = 0; i < size; ++i) EXPECT_GT(seen[i], 0) << "index " << i;
  });
}

TEST(SparseSlots, of_oktopk_take_no_more_than_6k_words) {
  on_ranks([](Comm comm) {
    SparseOptions options = summing("oktopk", 0.1);
    options.exchange = SparseExchange::slots;
    const index_t size = 2000;
    SparseAllreduce reduce(comm, size, options);
    for (int step = 0; step < 20; ++step) {
      run_checked<float>(comm, reduce, integers(comm.rank(), step, size));
      const SparseReport& report = reduce.report();
      const index_t others = comm.size() - 1;
      // A slot is rounded up to a whole pair.
      EXPECT_LE(report.words() + report.padding_words,
                6 * report.k * others / comm.size() + 4 * others);
      EXPECT_GE(report.padding_words, 0);
    }
  });
}

}  // namespace
}  // namespace weft::test
