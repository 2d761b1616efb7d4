// With checked calls, ranks that make different calls all throw the same error.

#include "support/disagreement.hpp"
#include "support/ranks.hpp"

#include <weft/core/error.hpp>

#include "comm/peer_reader.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::test {
namespace {

/// Runs `call` on all ranks with checked calls; see expect_disagreement of one rank.
void expect_disagreement(const std::function<void(Comm)>& call,
                         const std::vector<std::string>& words) {
  on_ranks([&](Comm comm) {
    comm.check_calls(true);
    test::expect_disagreement(comm, words, [&] { call(comm); });
  });
}

class Checking : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks() < 2) GTEST_SKIP() << "one rank cannot disagree with itself";
  }
  static int last() { return ranks() - 1; }
  static std::string rank_name(int rank) { return "rank " + std::to_string(rank); }
};

std::size_t all_of(const Comm& comm) { return static_cast<std::size_t>(comm.size()); }

}  // namespace

TEST_F(Checking, finds_different_counts) {
  expect_disagreement(
      [](Comm comm) {
        std::vector<double> data(comm.rank() == last() ? 8 : 7);
        comm.allreduce(data);
      },
      {"allreduce", "rank 0", rank_name(last()), "7", "8"});
  expect_disagreement(
      [](Comm comm) {
        std::vector<double> data(comm.rank() == 0 ? 1000 : 1001);
        comm.broadcast(data, 0);
      },
      {"broadcast", "1000", "1001"});
  expect_disagreement(
      [](Comm comm) {
        std::vector<double> data(comm.rank() == 0 ? 3 : 4);
        comm.reduce(data, data, ReduceOp::sum, 0);
      },
      {"reduce", "3", "4"});
}

TEST_F(Checking, finds_different_types) {
  expect_disagreement(
      [](Comm comm) {
        std::vector<float> floats(4);
        std::vector<std::int32_t> integers(4);
        comm.rank() == last() ? comm.allreduce(integers) : comm.allreduce(floats);
      },
      {"allreduce", "f32", "i32", rank_name(last())});
}

TEST_F(Checking, finds_different_ops) {
  expect_disagreement(
      [](Comm comm) { comm.allreduce(1.0, comm.rank() == 0 ? ReduceOp::min : ReduceOp::max); },
      {"min", "max", "rank 0", "rank 1"});
}

TEST_F(Checking, finds_different_roots) {
  expect_disagreement(
      [](Comm comm) {
        std::vector<int> data(3);
        comm.broadcast(data, comm.rank() == last() ? 1 : 0);
      },
      {"broadcast", "root 0", "root 1"});
  expect_disagreement(
      [](Comm comm) {
        const std::vector<int> in(3);
        std::vector<int> out(3 * all_of(comm));
        comm.gather(in, out, comm.rank() == last() ? 1 : 0);
      },
      {"gather", "root 0", "root 1"});
}

TEST_F(Checking, finds_different_calls) {
  expect_disagreement(
      [](Comm comm) { comm.rank() == last() ? comm.barrier() : (void)comm.allreduce(1); },
      {"barrier", "allreduce", "rank 0", rank_name(last())});
  expect_disagreement(
      [](Comm comm) {
        std::vector<int> in(1);
        std::vector<int> out(all_of(comm));
        comm.rank() == 0 ? comm.gather(in, out, 0) : comm.all_gather(in, out);
      },
      {"gather", "all_gather"});
}

TEST_F(Checking, finds_different_parts) {
  expect_disagreement(
      [](Comm comm) {
        std::vector<index_t> counts(all_of(comm), 2);
        if (comm.rank() == last()) counts[0] = 1;
        const std::vector<int> in(2);
        std::vector<int> out(2 * all_of(comm));
        comm.all_gather_v(in, out, Parts(counts));
      },
      {"all_gather", rank_name(last())});
  expect_disagreement(
      [](Comm comm) {
        std::vector<index_t> counts(all_of(comm), 2);
        if (comm.rank() == last()) counts[0] = 3;
        const std::vector<int> in(3 * all_of(comm));
        std::vector<int> out(2);
        comm.reduce_scatter_v(in, Parts(counts), out);
      },
      {"reduce_scatter", rank_name(last())});
}

TEST_F(Checking, finds_parts_at_different_offsets) {
  expect_disagreement(
      [](Comm comm) {
        const std::vector<index_t> counts(all_of(comm), 2);
        std::vector<index_t> offsets;
        for (int rank = 0; rank < comm.size(); ++rank) {
          offsets.push_back(rank * (comm.rank() == last() ? 3 : 2));
        }
        const std::vector<int> in(2);
        std::vector<int> out(3 * all_of(comm));
        comm.all_gather_v(in, out, Parts(counts, offsets));
      },
      {"all_gather", rank_name(last())});
}

TEST_F(Checking, finds_gathers_longer_than_expected) {
  expect_disagreement(
      [](Comm comm) {
        // The root expects two elements from every rank.
        const std::vector<int> in(comm.rank() == last() ? 5 : 2);
        std::vector<int> out(2 * all_of(comm));
        comm.gather_v(in, out, Parts(std::vector<index_t>(all_of(comm), 2)), 0);
      },
      {"gather", rank_name(last()) + " has 5 elements for rank 0, which expects 2"});
  expect_disagreement(
      [](Comm comm) {
        const std::vector<int> in(comm.rank() == 1 ? 0 : 2);
        std::vector<int> out(2 * all_of(comm));
        comm.gather(in, out, 0);
      },
      {"gather", "rank 1"});
}

TEST_F(Checking, finds_scatters_shorter_than_expected) {
  expect_disagreement(
      [](Comm comm) {
        const std::vector<int> in(2 * all_of(comm));
        std::vector<int> out(comm.rank() == last() ? 3 : 2);
        comm.scatter_v(in, Parts(std::vector<index_t>(all_of(comm), 2)), out, 0);
      },
      {"scatter", "rank 0 has 2 elements for " + rank_name(last()) + ", which expects 3"});
}

TEST_F(Checking, finds_exchanges_that_do_not_match) {
  expect_disagreement(
      [](Comm comm) {
        const Parts sent(std::vector<index_t>(all_of(comm), 4));
        std::vector<index_t> counts(all_of(comm), 4);
        if (comm.rank() == 0) counts.back() = 6;
        const std::vector<double> in(4 * all_of(comm));
        std::vector<double> out(6 * all_of(comm));
        comm.all_to_all_v(in, sent, out, Parts(counts));
      },
      {"all_to_all", "rank 0", rank_name(last()), "4", "6"});
}

TEST_F(Checking, finds_differences_in_started_calls) {
  expect_disagreement(
      [](Comm comm) {
        const std::vector<double> in(comm.rank() == 0 ? 2 : 3);
        std::vector<double> out(in.size());
        comm.start_allreduce(in, out).wait();
      },
      {"allreduce", "rank 0", "rank 1"});
}

TEST_F(Checking, finds_differences_in_split_communicators) {
  expect_disagreement(
      [](Comm comm) {
        const Comm turned = comm.split(0, -comm.rank());
        EXPECT_TRUE(turned.checks_calls());
        std::vector<double> data(turned.rank() == 0 ? 5 : 6);
        turned.allreduce(data);
      },
      {"allreduce", "5", "6"});
}

TEST_F(Checking, accepts_equal_calls) {
  on_ranks([](Comm comm) {
    comm.check_calls(true);
    EXPECT_TRUE(comm.checks_calls());
    // Uneven parts and arguments that only the root uses may differ.
    std::vector<index_t> counts;
    for (int rank = 0; rank < comm.size(); ++rank) counts.push_back(rank);
    const Parts parts(counts);
    const std::vector<int> in(static_cast<std::size_t>(comm.rank()), comm.rank());
    std::vector<int> out(static_cast<std::size_t>(parts.extent()), -1);
    comm.all_gather_v(in, out, parts);
    EXPECT_EQ(out.back(), last());
    comm.gather_v(in, comm.rank() == 0 ? BufferRef(out) : BufferRef(),
                  comm.rank() == 0 ? parts : Parts(), 0);
    std::vector<int> mine(in.size());
    comm.scatter_v(comm.rank() == 0 ? ConstBufferRef(out) : ConstBufferRef(),
                   comm.rank() == 0 ? parts : Parts(), mine, 0);
    EXPECT_EQ(mine, in);
    comm.check_calls(false);
    EXPECT_FALSE(comm.checks_calls());
  });
}

TEST_F(Checking, is_not_counted) {
  on_ranks([](Comm comm) {
    comm.check_calls(true);
    const std::vector<int> in(2);
    std::vector<int> out(2 * all_of(comm));
    comm.gather(in, out, 0);
    EXPECT_EQ(comm.stats().total().calls, 1);
  });
}

// Reading from another rank's memory is compared like a message to it.
TEST_F(Checking, compares_reads_from_peers) {
  on_ranks([](Comm comm) {
    comm.check_calls(true);
    struct Reader final : detail::PeerReader {
      void read(int, const void*) override { ++reads; }
      int reads = 0;
    } reader;
    const std::vector<double> mine(8);
    const auto ranks = static_cast<std::size_t>(comm.size());
    const Parts sent(std::vector<index_t>(ranks, 1), std::vector<index_t>(ranks, 0));
    const Parts more(std::vector<index_t>(ranks, 2), std::vector<index_t>(ranks, 0));
    if (!detail::shares_memory(comm, Device::cpu())) {
      EXPECT_THROW(detail::read_peers(comm, mine, sent, sent, reader), ArgumentError);
      return;
    }
    expect_disagreement(comm, {"rank 0", "1", "2"}, [&] {
      detail::read_peers(comm, mine, sent, comm.rank() == 0 ? more : sent, reader);
    });
    EXPECT_EQ(reader.reads, 0);
    detail::read_peers(comm, mine, sent, sent, reader);
    EXPECT_EQ(reader.reads, comm.size());
  });
}

}  // namespace weft::test
