#include <weft/comm/launch.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/support/gradients.hpp"
#include "sparse_allreduce/support/options.hpp"
#include "sparse_allreduce/support/oracles.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::test {
namespace {

constexpr index_t n = 1200;
constexpr double density = 0.05;
constexpr index_t k = 60;

/// One call on threads of this process, and what all ranks have selected.
void on_worlds(
    const SparseOptions& options,
    const std::function<void(const Comm&, const SparseReport&, const Simulation&)>& see) {
  for (const int ranks : {2, 3, 5, 8, 16, 64}) {
    run_threads(ranks, [&](const Comm& comm) {
      SparseAllreduce reduce(comm, n, options);
      Simulation simulation(ranks, n);
      const auto gradient = [&](int rank) { return integers(rank, 0, n); };
      simulation.select(gradient, k);
      Tensor<float> tensor(elements<float>(gradient(comm.rank())));
      reduce.run(tensor.ref(), tensor.ref());
      see(comm, reduce.report(), simulation);
    });
  }
}

index_t own_begin(int rank, int ranks) { return n * rank / ranks; }

index_t own_count(const Sparse& entries, const Comm& comm) {
  return count_within(entries, own_begin(comm.rank(), comm.size()),
                      own_begin(comm.rank() + 1, comm.size()));
}

TEST(SparseWords, dense) {
  on_worlds(summing("dense", density),
            [](const Comm& comm, const SparseReport& report, const Simulation&) {
              EXPECT_EQ(report.words(), 2 * n * (comm.size() - 1) / comm.size());
            });
}

TEST(SparseWords, topka_and_topka2_gather_k_pairs_of_each_rank) {
  for (const char* name : {"topkA", "topkA2"}) {
    on_worlds(summing(name, density),
              [](const Comm& comm, const SparseReport& report, const Simulation&) {
                EXPECT_EQ(report.words(), 2 * k * (comm.size() - 1));
                EXPECT_EQ(report.gather_words, report.words());
              });
  }
}

TEST(SparseWords, selections_by_threshold_gather_what_was_selected) {
  for (const char* name : {"topkAopt", "gaussiank", "gaussiankconcat"}) {
    on_worlds(summing(name, density),
              [](const Comm& comm, const SparseReport& report, const Simulation&) {
                const index_t all = comm.allreduce(report.selected);
                EXPECT_EQ(report.words(), 2 * (all - report.selected));
              });
  }
}

TEST(SparseWords, topksa_splits_pairs_and_gathers_their_union_or_all_elements) {
  on_worlds(summing("topkSA", density), [](const Comm& comm, const SparseReport& report,
                                           const Simulation& all) {
    const Sparse& mine = all.selected(comm.rank());
    EXPECT_EQ(report.split_words, 2 * (k - own_count(mine, comm)));
    const auto in_union = static_cast<index_t>(all.sums().size());
    const index_t own_elements =
        own_begin(comm.rank() + 1, comm.size()) - own_begin(comm.rank(), comm.size());
    EXPECT_EQ(report.gather_words,
              2 * in_union < n ? 2 * (in_union - own_count(all.sums(), comm)) : n - own_elements);
  });
}

TEST(SparseWords, oktopk_splits_pairs_and_gathers_k_of_them) {
  SparseOptions options = summing("oktopk", density);
  options.oktopk.partition = SparsePartition::equal;
  on_worlds(options, [](const Comm& comm, const SparseReport& report, const Simulation& all) {
    const Sparse result = largest(all.sums(), k);
    EXPECT_EQ(report.split_words, 2 * (k - own_count(all.selected(comm.rank()), comm)));
    EXPECT_EQ(report.gather_words, 2 * (k - own_count(result, comm)));
    EXPECT_EQ(report.balance_words, 0);
  });
}

TEST(SparseWords, balancing_sends_only_what_is_in_excess) {
  SparseOptions options = summing("oktopk", density);
  options.oktopk.partition = SparsePartition::equal;
  options.oktopk.balance = SparseBalance::on;
  on_worlds(options, [](const Comm& comm, const SparseReport& report, const Simulation& all) {
    const Sparse result = largest(all.sums(), k);
    const index_t before = count_within(result, 0, own_begin(comm.rank(), comm.size()));
    const index_t mine = own_count(result, comm);
    const index_t begin = k * comm.rank() / comm.size();
    const index_t end = k * (comm.rank() + 1) / comm.size();
    const index_t stays =
        std::max<index_t>(0, std::min(end, before + mine) - std::max(begin, before));
    EXPECT_EQ(report.balance_words, 2 * (mine - stays));
    EXPECT_EQ(report.gather_words, 2 * (k - (end - begin)));
  });
}

TEST(SparseWords, gtopk_sends_k_pairs_per_round) {
  on_worlds(summing("gtopk", density),
            [](const Comm& comm, const SparseReport& report, const Simulation&) {
              index_t messages = comm.rank() == 0 ? 0 : 1;
              for (int d = 1; comm.rank() % (2 * d) == 0 && comm.rank() + d < comm.size(); d *= 2) {
                ++messages;
              }
              EXPECT_EQ(report.split_words, 2 * k * messages);
              EXPECT_EQ(report.gather_words, 2 * k);
            });
}

}  // namespace
}  // namespace weft::test
