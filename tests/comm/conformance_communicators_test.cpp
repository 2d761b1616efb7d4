#include "comm/support/conformance.hpp"

#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include <memory>
#include <numeric>
#include <string>

namespace weft::test {

// Split communicators

TEST(ConformanceSplit, by_parity_makes_two_communicators) {
  on_ranks([](Comm comm) {
    const int parity = comm.rank() % 2;
    const Comm half = comm.split(parity);
    EXPECT_EQ(half.size(), (comm.size() + 1 - parity) / 2);
    EXPECT_EQ(half.rank(), comm.rank() / 2);
    int expected = 0;
    for (int rank = parity; rank < comm.size(); rank += 2) expected += rank;
    EXPECT_EQ(half.allreduce(comm.rank()), expected);
    std::vector<int> members(static_cast<std::size_t>(half.size()));
    const std::vector<int> mine = {comm.rank()};
    half.all_gather(mine, members);
    for (std::size_t i = 0; i < members.size(); ++i) {
      EXPECT_EQ(members[i], parity + 2 * static_cast<int>(i));
    }
    expect_works(comm);
  });
}

TEST(ConformanceSplit, orders_ranks_by_key_and_then_by_rank) {
  on_ranks([](Comm comm) {
    const Comm reversed = comm.split(7, -comm.rank());
    EXPECT_EQ(reversed.size(), comm.size());
    EXPECT_EQ(reversed.rank(), comm.size() - 1 - comm.rank());
    std::vector<int> data = {comm.rank()};
    reversed.broadcast(data, 0);
    EXPECT_EQ(data[0], comm.size() - 1);

    const Comm equal = comm.split(0, 5);
    EXPECT_EQ(equal.rank(), comm.rank());

    const Comm last_first = comm.split(0, comm.rank() == comm.size() - 1 ? 0 : 1);
    EXPECT_EQ(last_first.rank(), (comm.rank() + 1) % comm.size());
  });
}

TEST(ConformanceSplit, leaves_out_ranks_without_color) {
  on_ranks([](Comm comm) {
    const Comm but_first = comm.split(comm.rank() == 0 ? -1 : 3);
    EXPECT_EQ(but_first.valid(), comm.rank() != 0);
    if (but_first.valid()) {
      EXPECT_EQ(but_first.rank(), comm.rank() - 1);
      EXPECT_EQ(but_first.size(), comm.size() - 1);
      expect_works(but_first);
    }
    const Comm nobody = comm.split(-1);
    EXPECT_FALSE(nobody.valid());
    expect_works(comm);
  });
}

TEST(ConformanceSplit, of_a_split) {
  on_ranks([](Comm comm) {
    const Comm half = comm.split(comm.rank() / 2);
    const Comm alone = half.split(half.rank());
    EXPECT_EQ(alone.size(), 1);
    EXPECT_EQ(alone.allreduce(comm.rank()), comm.rank());
    const Comm turned = comm.split(0, -comm.rank()).split(0, 0);
    EXPECT_EQ(turned.rank(), comm.size() - 1 - comm.rank());
    const Comm back = turned.split(0, comm.rank());
    EXPECT_EQ(back.rank(), comm.rank());
    expect_works(back);
    expect_works(turned);
  });
}

TEST(ConformanceSplit, separates_its_traffic_from_the_parent) {
  on_ranks([](Comm comm) {
    const Comm copy = comm.dup();
    const Comm half = comm.split(comm.rank() % 2);
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    const std::vector<int> one = {1000 + comm.rank()};
    const std::vector<int> two = {2000 + comm.rank()};
    std::vector<int> from_comm(1);
    std::vector<int> from_copy(1);
    std::vector<double> large(4000, 1.0);
    std::vector<double> total(4000);
    // Sent first on one communicator, received first on the other.
    Request reduction = comm.start_allreduce(large, total);
    Request first = comm.start_send(one, next);
    Request second = copy.start_send(two, next);
    Request third = copy.start_recv(from_copy, previous);
    Request fourth = comm.start_recv(from_comm, previous);
    expect_works(half);
    expect_works(copy);
    for (Request* request : {&third, &fourth, &second, &first, &reduction}) request->wait();
    EXPECT_EQ(from_comm[0], 1000 + previous);
    EXPECT_EQ(from_copy[0], 2000 + previous);
    EXPECT_EQ(total, std::vector<double>(4000, comm.size()));
  });
}

TEST(ConformanceSplit, outlives_its_parent) {
  on_ranks([](Comm comm) {
    auto parent = std::make_unique<Comm>(comm.dup());
    const Comm child = parent->split(0, -comm.rank());
    parent.reset();
    expect_works(child);
    EXPECT_EQ(child.rank(), comm.size() - 1 - comm.rank());
  });
}

TEST(ConformanceSplit, makes_different_communicators) {
  on_ranks([](Comm comm) {
    const Comm same = comm;
    EXPECT_TRUE(same == comm);
    EXPECT_TRUE(comm == comm.on(other_device()));
    EXPECT_TRUE(Comm::self() == Comm::self());
    EXPECT_TRUE(comm.split(-1) == comm.split(-1));
    EXPECT_FALSE(comm == comm.split(-1));
    if (comm.transport() == "self") {
      EXPECT_TRUE(comm == comm.dup());
    } else {
      EXPECT_FALSE(comm == comm.dup());
      EXPECT_FALSE(comm == Comm::self());
    }
  });
}

TEST(ConformanceSplit, can_be_repeated) {
  on_ranks([](Comm comm) {
    for (int round = 0; round < 50; ++round) {
      const Comm part = comm.split((comm.rank() + round) % 3, round);
      EXPECT_EQ(part.allreduce(1), part.size());
    }
  });
}

TEST(ConformanceSplit, progresses_all_communicators) {
  on_ranks([](Comm comm) {
    const Comm other = comm.dup();
    const std::vector<double> in(5000, 1.0);
    std::vector<double> out(in.size());
    for (int round = 0; round < 20; ++round) {
      Request request = comm.start_allreduce(in, out);
      if (comm.rank() % 2 == 0) {
        request.wait();
        other.barrier();
      } else {
        other.barrier();
        request.wait();
      }
      EXPECT_EQ(out.back(), comm.size());
    }
  });
}

TEST(ConformanceSplit, without_color_makes_an_invalid_communicator) {
  on_ranks([](Comm comm) {
    const Comm none = comm.split(-1);
    ASSERT_FALSE(none.valid());
    EXPECT_THROW(none.barrier(), ArgumentError);
    EXPECT_THROW(static_cast<void>(none.size()), ArgumentError);
    EXPECT_THROW(none.allreduce(1.0), ArgumentError);
    expect_works(comm);
  });
}

TEST(ConformanceDevice, is_a_property_of_the_communicator) {
  on_ranks([](Comm comm) {
    EXPECT_EQ(comm.device(), Device::cpu());
    const Comm debug = comm.on(other_device());
    EXPECT_EQ(debug.device(), other_device());
    EXPECT_EQ(debug.dup().device(), other_device());
    EXPECT_EQ(comm.device(), Device::cpu());
  });
}

TEST(ConformanceDevice, memory_is_reduced) {
  on_ranks([](Comm comm) {
    for (const std::size_t count : {0U, 1U, 62U, 63U, 5000U}) {
      const std::vector<double> mine(count, comm.rank() + 1.0);
      const double total = comm.size() * (comm.size() + 1) / 2.0;
      auto in = on_debug(mine);
      auto out = on_debug(std::vector<double>(count));
      comm.allreduce(in, out);
      EXPECT_EQ(on_host(out), std::vector<double>(count, total));
      EXPECT_EQ(on_host(in), mine);
      comm.allreduce(in, out, ReduceOp::avg);
      EXPECT_EQ(on_host(out), std::vector<double>(count, total / comm.size()));
      Request request = comm.start_allreduce(in, out, ReduceOp::max);
      request.wait();
      EXPECT_EQ(on_host(out), std::vector<double>(count, comm.size()));
      const int root = comm.size() - 1;
      comm.reduce(in, out, ReduceOp::sum, root);
      if (comm.rank() == root) {
        EXPECT_EQ(on_host(out), std::vector<double>(count, total));
      }
      comm.allreduce(in);
      EXPECT_EQ(on_host(in), std::vector<double>(count, total));
    }
  });
}

TEST(ConformanceDevice, memory_is_gathered_and_gaps_are_kept) {
  on_ranks([](Comm comm) {
    const auto counts = uneven_counts(comm.size(), 100, 1);
    const Parts parts = parts_with_gaps(counts);
    const auto mine = static_cast<std::size_t>(at_rank(counts, comm.rank()));
    std::vector<float> expected(static_cast<std::size_t>(parts.extent()) + 3, -7.0F);
    auto out = on_debug(expected);
    for (int rank = 0; rank < comm.size(); ++rank) {
      for (index_t i = 0; i < parts.count(rank); ++i) {
        expected[static_cast<std::size_t>(parts.offset(rank) + i)] = static_cast<float>(rank);
      }
    }
    const auto in = on_debug(std::vector<float>(mine, static_cast<float>(comm.rank())));
    comm.all_gather_v(in, out, parts);
    EXPECT_EQ(on_host(out), expected);

    const BufferRef place =
        BufferRef(out).part(parts.offset(comm.rank()), parts.count(comm.rank()));
    comm.all_gather_v(place, out, parts);
    EXPECT_EQ(on_host(out), expected);
  });
}

TEST(ConformanceDevice, memory_is_scattered_and_exchanged) {
  on_ranks([](Comm comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<int> mine(ranks);
    std::iota(mine.begin(), mine.end(), comm.rank() * 100);
    const auto in = on_debug(mine);
    auto out = on_debug(std::vector<int>(ranks));
    comm.all_to_all(in, out);
    std::vector<int> expected;
    for (int rank = 0; rank < comm.size(); ++rank) expected.push_back(rank * 100 + comm.rank());
    EXPECT_EQ(on_host(out), expected);

    auto one = on_debug(std::vector<int>(1));
    comm.scatter(in, one, comm.size() - 1);
    EXPECT_EQ(on_host(one)[0], (comm.size() - 1) * 100 + comm.rank());
    comm.reduce_scatter(in, one);
    EXPECT_EQ(on_host(one)[0],
              comm.size() * (comm.size() - 1) / 2 * 100 + comm.size() * comm.rank());
    auto all = on_debug(std::vector<int>(ranks, -1));
    comm.gather(one, all, 0);
    if (comm.rank() == 0) {
      EXPECT_EQ(on_host(all)[ranks - 1], on_host(one)[0] + comm.size() * (comm.size() - 1));
    }
    comm.broadcast(all, 0);
    EXPECT_NE(on_host(all)[0], -1);
  });
}

TEST(ConformanceDevice, memory_is_reduced_and_scattered_in_place) {
  on_ranks([](Comm comm) {
    constexpr std::size_t share = 300;
    const std::size_t count = share * static_cast<std::size_t>(comm.size());
    std::vector<double> mine(count);
    for (std::size_t i = 0; i < count; ++i) mine[i] = static_cast<double>(i) + comm.rank();
    auto data = on_debug(mine);
    const auto first = static_cast<index_t>(share) * comm.rank();
    const BufferRef place = BufferRef(data).part(first, share);
    comm.reduce_scatter(data, place);
    const std::vector<double> reduced = on_host(data);
    const double ranks = comm.size() * (comm.size() - 1) / 2.0;
    for (std::size_t i = 0; i < share; ++i) {
      const std::size_t at = static_cast<std::size_t>(first) + i;
      EXPECT_EQ(reduced[at], comm.size() * static_cast<double>(at) + ranks);
    }
    for (int root = 0; root < comm.size(); ++root) {
      auto dealt = on_debug(mine);
      comm.scatter(dealt, BufferRef(dealt).part(first, share), root);
      EXPECT_EQ(on_host(dealt)[static_cast<std::size_t>(first)], static_cast<double>(first) + root);
    }
  });
}

TEST(ConformanceDevice, memory_is_sent_and_received) {
  on_ranks([](Comm comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    for (const std::size_t count : {0U, 3U, 3000U}) {
      const auto out = on_debug(std::vector<int>(count, comm.rank()));
      auto in = on_debug(std::vector<int>(count, -1));
      comm.sendrecv(out, next, in, previous);
      EXPECT_EQ(on_host(in), std::vector<int>(count, previous));

      // Host and device memory may be mixed if both have the same route.
      const std::string route = comm.route(other_device()).name;
      if (route == "staged" || route == comm.transport()) {
        std::vector<int> host(count, -1);
        comm.sendrecv(out, next, host, previous);
        EXPECT_EQ(host, std::vector<int>(count, previous));
      }

      auto again = on_debug(std::vector<int>(count, -1));
      MessageBatch batch(comm);
      batch.send(out, next).recv(again, previous);
      batch.run();
      EXPECT_EQ(on_host(again), std::vector<int>(count, previous));
    }
  });
}

}  // namespace weft::test
