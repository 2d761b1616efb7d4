// Every algorithm of the table, on the ranks of a communicator.

#include <weft/core/error.hpp>

#include "comm/allreduce_table.hpp"
#include "comm/comm_state.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace weft::test {
namespace {

using namespace weft::detail;
using enum AllreduceAlgorithm;
using enum AllreducePlace;

/// A table that has one algorithm for all sizes.
std::shared_ptr<const AllreduceTable> table_of(AllreducePlace place, AllreduceAlgorithm algorithm,
                                               ReduceOrder order) {
  const AllreduceLimit limit = {place, 1, AllreduceLimit::unlimited, algorithm};
  return std::make_shared<AllreduceTable>(std::vector{limit}, order);
}

/// Numbers of different magnitudes, so that sums depend on the order of their terms.
double rough(int rank, index_t i) {
  const std::uint64_t random = mixed(rank, i);
  return std::ldexp(static_cast<double>(random % 4096) - 2048, static_cast<int>(random >> 40 & 63));
}

void expect_rank_order(const Comm& comm, index_t count, const std::string& trace) {
  std::vector<double> data(static_cast<std::size_t>(count));
  std::vector<double> expected(data.size());
  for (index_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    data[at] = rough(comm.rank(), i);
    expected[at] = rough(0, i);
    for (int rank = 1; rank < comm.size(); ++rank) expected[at] += rough(rank, i);
  }
  comm.allreduce(data);
  EXPECT_TRUE(same_bits(data.data(), expected.data(), data.size() * sizeof(double))) << trace;
}

TEST(AllreduceTeam, has_the_same_result_with_every_algorithm) {
  on_ranks([](Comm comm) {
    Transport& transport = *CommAccess::state(comm)->transport;
    const auto team = transport.allreduce_team();
    if (comm.size() == 1 && !team) return;
    ASSERT_TRUE(team);
    EXPECT_EQ(team->place, world() == World::mpi ? process : thread);
    EXPECT_EQ(team->ranks, comm.size());
    for (const AllreduceRow& row : allreduce_rows(team->place)) {
      transport.use_table(table_of(row.place, row.algorithm, ReduceOrder::by_rank));
      for (const index_t count : {0, 1, 2, 7, 61, 62, 63, 1000, 100'000}) {
        expect_rank_order(comm, count, fmt::format("{}, {} elements", row.name, count));
      }
    }
  });
}

TEST(AllreduceTeam, may_use_the_transport_beneath) {
  on_ranks([](Comm comm) {
    Transport& transport = *CommAccess::state(comm)->transport;
    const auto team = transport.allreduce_team();
    if (!team || team->place != process) return;
    transport.use_table(table_of(process, beneath, ReduceOrder::arbitrary));
    for (const std::size_t count : {1U, 100U, 100'000U}) {
      std::vector<std::int64_t> data(count, comm.rank() + 1);
      comm.allreduce(data);
      const std::int64_t sum = std::int64_t{comm.size()} * (comm.size() + 1) / 2;
      EXPECT_EQ(data, std::vector<std::int64_t>(count, sum));
    }
  });
}

}  // namespace
}  // namespace weft::test
