#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/support/gradients.hpp"
#include "sparse_allreduce/support/options.hpp"
#include "sparse_allreduce/support/oracles.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::test {
namespace {

constexpr index_t n = 420;
constexpr double density = 0.05;
constexpr index_t k = 21;

/// Runs the algorithm and the simulation, and compares results and residuals of every step.
void expect_simulated(const Comm& comm, const SparseOptions& options, int steps,
                      const std::function<Sparse(const Simulation&)>& result_of) {
  SCOPED_TRACE(options.algorithm);
  SparseAllreduce reduce(comm, n, options);
  Simulation simulation(comm.size(), n);
  for (int step = 0; step < steps; ++step) {
    const auto gradient = [&](int rank) { return integers(rank, step, n); };
    simulation.select(gradient, k);
    const Sparse result = result_of(simulation);
    simulation.keep(result);
    EXPECT_EQ(run_checked<float>(comm, reduce, gradient(comm.rank())), filled(result, n));
    EXPECT_EQ(residual_of(reduce, n, DType::f32), simulation.residual(comm.rank()));
    EXPECT_EQ(reduce.report().selected, k);
  }
}

Sparse all_sums(const Simulation& simulation) { return simulation.sums(); }
Sparse largest_sums(const Simulation& simulation) { return largest(simulation.sums(), k); }

TEST(SparseAlgorithms, topka_and_topksa_add_the_largest_elements_of_all_ranks) {
  on_ranks([](Comm comm) {
    for (const char* name : {"topk", "topkA", "topkSA"}) {
      expect_simulated(comm, summing(name, density), 5, all_sums);
    }
  });
}

TEST(SparseAlgorithms, topka2_keeps_the_largest_sums) {
  on_ranks([](Comm comm) { expect_simulated(comm, summing("topkA2", density), 5, largest_sums); });
}

TEST(SparseAlgorithms, exact_oktopk_is_topka2_for_every_partition_and_balance) {
  on_ranks([](Comm comm) {
    for (const auto partition :
         {SparsePartition::equal, SparsePartition::quantile, SparsePartition::block_cyclic}) {
      for (const auto balance :
           {SparseBalance::off, SparseBalance::on, SparseBalance::by_imbalance}) {
        SparseOptions options = summing("oktopk", density);
        options.oktopk.local_period = 1;
        options.oktopk.global_period = 1;
        options.oktopk.region_period = 2;
        options.oktopk.partition = partition;
        options.oktopk.block = 5;
        options.oktopk.balance = balance;
        options.oktopk.imbalance = 1.1;
        expect_simulated(comm, options, 5, largest_sums);
      }
    }
  });
}

TEST(SparseAlgorithms, gtopk_of_two_ranks_is_topka2) {
  on_ranks([](Comm comm) {
    if (comm.size() > 2) return;
    SparseOptions options = summing("gtopk", density);
    options.gtopk = GtopkResidual::classic;  // residuals stay where they are
    expect_simulated(comm, options, 5, largest_sums);
    options.gtopk = GtopkResidual::transfer;
    SparseAllreduce transfer(comm, n, options);
    Simulation simulation(comm.size(), n);
    simulation.select([&](int rank) { return integers(rank, 0, n); }, k);
    EXPECT_EQ(run_checked<float>(comm, transfer, integers(comm.rank(), 0, n)),
              filled(largest_sums(simulation), n));
  });
}

/// The tree of merges: rank r takes over r + d for d = 1, 2, 4, ...
Sparse tree_of(const Simulation& simulation, int ranks) {
  std::vector<Sparse> held;
  for (int p = 0; p < ranks; ++p) held.push_back(simulation.selected(p));
  for (int distance = 1; distance < ranks; distance *= 2) {
    for (int p = 0; p + distance < ranks; p += 2 * distance) {
      Sparse merged = held[static_cast<std::size_t>(p)];
      for (const auto& [i, x] : held[static_cast<std::size_t>(p + distance)]) merged[i] += x;
      held[static_cast<std::size_t>(p)] = largest(merged, k);
    }
  }
  return held[0];
}

TEST(SparseAlgorithms, gtopk_replays_its_tree) {
  on_ranks([](Comm comm) {
    SparseOptions options = summing("gtopk", density);
    for (const auto rule : {GtopkResidual::transfer, GtopkResidual::classic}) {
      options.gtopk = rule;
      SparseAllreduce reduce(comm, n, options);
      Simulation simulation(comm.size(), n);
      const auto gradient = [&](int rank) { return integers(rank, 3, n); };
      simulation.select(gradient, k);
      Tensor<float> tensor(elements<float>(gradient(comm.rank())));
      reduce.run(tensor.ref(), tensor.ref());
      EXPECT_EQ(numbers(tensor.read()), filled(tree_of(simulation, comm.size()), n));
    }
  });
}

/// An element that one inner merge drops and another keeps is lost by the classic rule.
TEST(SparseAlgorithms, classic_gtopk_loses_gradient) {
  on_ranks([](Comm comm) {
    if (comm.size() != 4) return;
    const std::vector<std::vector<double>> gradients = {
        {9, 0, 0, 0}, {0, 5, 0, 0}, {0, 20, 0, 0}, {0, 0, 0, 1}};
    for (const auto rule : {GtopkResidual::transfer, GtopkResidual::classic}) {
      SparseOptions options = summing("gtopk", 0.25);
      options.gtopk = rule;
      SparseAllreduce reduce(comm, 4, options);
      const std::vector<double>& mine = gradients[static_cast<std::size_t>(comm.rank())];
      Tensor<float> tensor(elements<float>(mine));
      reduce.run(tensor.ref(), tensor.ref());
      const std::vector<double> out =
          plus(numbers(tensor.read()), sum_over_ranks(comm, residual_of(reduce, 4, DType::f32)));
      const std::vector<double> in = sum_over_ranks(comm, mine);
      EXPECT_EQ(numbers(tensor.read()), (std::vector<double>{0, 20, 0, 0}));
      EXPECT_EQ(in[1] - out[1], rule == GtopkResidual::classic ? 5 : 0);
    }
  });
}

TEST(SparseAlgorithms, the_gaussian_algorithms_agree) {
  on_ranks([](Comm comm) {
    SparseAllreduce a(comm, n, summing("gaussiank", density));
    SparseAllreduce b(comm, n, summing("gaussiankconcat", density));
    SparseAllreduce c(comm, n, summing("gaussiankSA", density));
    for (int step = 0; step < 4; ++step) {
      const std::vector<double> gradient = integers(comm.rank(), step, n);
      const std::vector<double> result = run_checked<float>(comm, a, gradient);
      EXPECT_EQ(run_checked<float>(comm, b, gradient), result);
      EXPECT_EQ(run_checked<float>(comm, c, gradient), result);
      EXPECT_GT(a.report().selected, 0);
      EXPECT_LT(a.report().selected, n / 2);
    }
  });
}

/// Between exact selections, a threshold decides on every rank and at every owner.
TEST(SparseAlgorithms, oktopk_reuses_thresholds_between_exact_calls) {
  on_ranks([](Comm comm) {
    SparseOptions options = summing("oktopk", density);
    options.oktopk.raise_steps = 0;
    options.oktopk.local_factor = 1;
    options.oktopk.global_down = 1;
    options.oktopk.global_up = 1;
    SparseAllreduce reduce(comm, n, options);
    run_checked<float>(comm, reduce, integers(comm.rank(), 0, n));
    const double local = reduce.report().local_threshold;
    const double global = reduce.report().global_threshold;
    EXPECT_GT(local, 0);
    EXPECT_GT(global, 0);
    const std::vector<double> rest = residual_of(reduce, n, DType::f32);
    const std::vector<double> sums = plus(rest, integers(comm.rank(), 1, n));
    std::vector<double> taken(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      taken[i] = std::abs(sums[i]) >= local ? sums[i] : 0;
    std::vector<double> expected = sum_over_ranks(comm, taken);
    for (double& x : expected) x = std::abs(x) >= global ? x : 0;
    EXPECT_EQ(run_checked<float>(comm, reduce, integers(comm.rank(), 1, n)), expected);
  });
}

TEST(SparseAlgorithms, adapted_thresholds_keep_the_number_of_elements_near_k) {
  on_ranks([](Comm comm) {
    for (const OktopkConstants& constants :
         {OktopkConstants::vgg(), OktopkConstants::lstm(), OktopkConstants::bert()}) {
      SparseOptions options = summing("oktopk", 0.02);
      options.oktopk = constants;
      options.oktopk.local_period = 1000;
      options.oktopk.global_period = 1000;
      const index_t size = 5000;
      SparseAllreduce reduce(comm, size, options);
      for (int step = 0; step < 60; ++step) {
        std::vector<double> gradient = integers(comm.rank(), step, size);
        run_checked<float>(comm, reduce, gradient);
      }
      EXPECT_GT(reduce.report().selected, 100 / 3);
      EXPECT_LT(reduce.report().selected, 3 * 100);
    }
  });
}

TEST(SparseAlgorithms, auto_chooses_by_cost_and_folds_the_residual_in) {
  on_ranks([](Comm comm) {
    SparseOptions options = summing("auto", density);
    SparseAllreduce reduce(comm, n, options);
    run_checked<float>(comm, reduce, integers(comm.rank(), 0, n));
    EXPECT_EQ(reduce.report().algorithm, comm.size() == 1 ? "dense" : "oktopk");
    reduce.set_density(0.9);
    run_checked<float>(comm, reduce, integers(comm.rank(), 1, n));
    EXPECT_EQ(reduce.report().algorithm, "dense");
    EXPECT_EQ(residual_of(reduce, n, DType::f32), std::vector<double>(n));
  });
}

/// Dense calls leave no regions; the first sparse one has those of the partition all the same.
TEST(SparseAlgorithms, auto_partitions_as_oktopk_after_dense_calls) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    for (const auto partition : {SparsePartition::equal, SparsePartition::quantile}) {
      SparseOptions options = summing("auto", 0.9);
      options.oktopk.partition = partition;
      SparseAllreduce reduce(comm, n, options);
      run_checked<float>(comm, reduce, integers(comm.rank(), 0, n));
      EXPECT_EQ(reduce.report().algorithm, "dense");
      reduce.set_density(density);
      options.algorithm = "oktopk";
      options.density = density;
      SparseAllreduce fresh(comm, n, options);
      const std::vector<double> gradient = integers(comm.rank(), 1, n);
      EXPECT_EQ(run_checked<float>(comm, reduce, gradient),
                run_checked<float>(comm, fresh, gradient));
      EXPECT_EQ(reduce.report().split_words, fresh.report().split_words);
      EXPECT_EQ(reduce.report().gather_words, fresh.report().gather_words);
    }
  });
}

TEST(SparseAlgorithms, the_first_calls_can_be_dense) {
  on_ranks([](Comm comm) {
    SparseOptions options = summing("oktopk", density);
    options.dense_calls = 2;
    SparseAllreduce reduce(comm, n, options);
    for (int step = 0; step < 4; ++step) {
      const std::vector<double> gradient = integers(comm.rank(), step, n);
      const std::vector<double> result = run_checked<float>(comm, reduce, gradient);
      EXPECT_EQ(reduce.report().algorithm, step < 2 ? "dense" : "oktopk");
      if (step < 2) {
        EXPECT_EQ(result, sum_over_ranks(comm, gradient));
      }
    }
  });
}

TEST(SparseAlgorithms, residuals_can_decay_or_be_left_out) {
  on_ranks([](Comm comm) {
    for (const bool feedback : {true, false}) {
      SparseOptions options = summing("topkA", density);
      options.decay = 0.5;
      options.error_feedback = feedback;
      SparseAllreduce reduce(comm, n, options);
      Tensor<float> first(elements<float>(integers(comm.rank(), 0, n)));
      reduce.run(first.ref(), first.ref());
      std::vector<double> expected = residual_of(reduce, n, DType::f32);
      for (double& x : expected) x *= feedback ? 0.5 : 0;
      expected = plus(expected, integers(comm.rank(), 1, n));
      for (const auto& [i, x] : largest(indexed(expected), k)) {
        expected[static_cast<std::size_t>(i)] = 0;
      }
      Tensor<float> second(elements<float>(integers(comm.rank(), 1, n)));
      reduce.run(second.ref(), second.ref());
      EXPECT_EQ(residual_of(reduce, n, DType::f32), expected);
    }
  });
}

}  // namespace
}  // namespace weft::test
