// Conformance suite, part 1: the world, barriers and collectives that move data. All files
// conformance*_test.cpp are one suite, which runs unchanged on each transport.

#include "comm/support/conformance.hpp"

#include <chrono>
#include <numeric>
#include <thread>

namespace weft::test {

TEST(ConformanceWorld, has_the_requested_ranks) {
  on_ranks([](Comm comm) {
    ASSERT_EQ(comm.size(), ranks());
    ASSERT_GE(comm.rank(), 0);
    ASSERT_LT(comm.rank(), comm.size());
    std::vector<int> all(static_cast<std::size_t>(comm.size()), -1);
    const std::vector<int> mine = {comm.rank()};
    comm.all_gather(mine, all);
    for (int rank = 0; rank < comm.size(); ++rank) {
      EXPECT_EQ(all[static_cast<std::size_t>(rank)], rank);
    }
    constexpr std::array<std::string_view, 3> names = {"thread", "mpi", "self"};
    EXPECT_EQ(comm.transport(), names[static_cast<std::size_t>(world())]);
  });
}

// Barrier

TEST(ConformanceBarrier, blocks_until_all_ranks_arrive) {
  on_ranks([](Comm comm) {
    using Clock = std::chrono::steady_clock;
    for (int round = 0; round < 5; ++round) {
      const int late = round % comm.size();
      if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::int64_t came = Clock::now().time_since_epoch().count();
      comm.barrier();
      const std::int64_t went = Clock::now().time_since_epoch().count();
      EXPECT_GE(comm.allreduce(went, ReduceOp::min), comm.allreduce(came, ReduceOp::max));
    }
  });
}

TEST(ConformanceBarrier, is_not_complete_before_all_have_started_it) {
  on_ranks([](Comm comm) {
    if (comm.checks_calls()) comm.check_calls(false);  // checking would wait for the other ranks
    const std::vector<int> token = {1};
    std::vector<int> received(1);
    if (comm.rank() == 0) {
      for (int peer = 1; peer < comm.size(); ++peer) comm.recv(received, peer);
      comm.start_barrier().wait();
    } else {
      Request request = comm.start_barrier();
      for (int i = 0; i < 100; ++i) EXPECT_FALSE(request.test());
      comm.send(token, 0);
      request.wait();
      EXPECT_TRUE(request.test());
    }
  });
}

// Collectives that move data

TEST(ConformanceBroadcast, supports_every_type_and_root) {
  on_ranks([](Comm comm) {
    for (const DType dtype : all_dtypes) {
      for (int root = 0; root < comm.size(); ++root) {
        for (const index_t count : sizes) {
          Numbers data = values(dtype, comm.rank(), count);
          comm.broadcast(data.memory(), root);
          EXPECT_TRUE(same(data, values(dtype, root, count)));
        }
      }
    }
  });
}

TEST(ConformanceBroadcast, reads_the_input_of_the_root_only) {
  on_ranks([](Comm comm) {
    for (int root = 0; root < comm.size(); ++root) {
      const bool is_root = comm.rank() == root;
      for (const index_t count : sizes) {
        const Numbers in = values(DType::f32, comm.rank(), count);
        const Numbers before = values(DType::f32, comm.size(), count);
        Numbers out = values(DType::f32, comm.size(), count);
        comm.broadcast(in.memory(), out.memory(), root);
        EXPECT_TRUE(same(in, values(DType::f32, comm.rank(), count)));
        EXPECT_TRUE(same(out, is_root ? before : values(DType::f32, root, count)));
        // The root needs no `out`, the others need no `in`.
        comm.broadcast(is_root ? in.memory() : ConstBufferRef(),
                       is_root ? BufferRef() : out.memory(), root);
        EXPECT_TRUE(same(out, is_root ? before : values(DType::f32, root, count)));
      }
    }
  });
}

TEST(ConformanceAllGather, gathers_equal_parts_of_every_type) {
  on_ranks([](Comm comm) {
    for (const DType dtype : all_dtypes) {
      for (const index_t count : sizes) {
        Parts parts;
        parts.make_even(comm.size(), count);
        const Numbers mine = values(dtype, comm.rank(), count);
        Numbers all(dtype, count * comm.size());
        comm.all_gather(mine.memory(), all.memory());
        const Numbers expected = arranged(
            dtype, all.count(), parts, [&](int rank, index_t i) { return value(dtype, rank, i); });
        EXPECT_TRUE(same(all, expected));
        EXPECT_TRUE(same(mine, values(dtype, comm.rank(), count)));

        Numbers in_place(dtype, all.count());
        for (index_t i = 0; i < count; ++i) in_place.set(comm.rank() * count + i, mine[i]);
        comm.all_gather(in_place.part(comm.rank() * count, count), in_place.memory());
        EXPECT_TRUE(same(in_place, expected));
      }
    }
  });
}

TEST(ConformanceAllGather, gathers_uneven_parts_and_keeps_gaps) {
  on_ranks([](Comm comm) {
    for (const index_t scale : {1, 40, 3000}) {
      for (int shift = 0; shift < 3; ++shift) {
        const auto counts = uneven_counts(comm.size(), scale, shift);
        const index_t mine = at_rank(counts, comm.rank());
        for (const Parts& parts : {Parts(counts), parts_with_gaps(counts)}) {
          const index_t room = parts.extent() + 5;
          const Numbers in = values(DType::f64, comm.rank(), mine);
          Numbers out(DType::f64, room);
          comm.all_gather_v(in.memory(), out.memory(), parts);
          const Numbers expected = arranged(DType::f64, room, parts, [&](int rank, index_t i) {
            return value(DType::f64, rank, i);
          });
          EXPECT_TRUE(same(out, expected));

          Numbers in_place(DType::f64, room);
          const BufferRef place = in_place.part(parts.offset(comm.rank()), mine);
          for (index_t i = 0; i < mine; ++i) in_place.set(parts.offset(comm.rank()) + i, in[i]);
          comm.all_gather_v(place, in_place.memory(), parts);
          EXPECT_TRUE(same(in_place, expected));
        }
      }
    }
  });
}

TEST(ConformanceGather, gathers_parts_on_every_root) {
  on_ranks([](Comm comm) {
    for (int root = 0; root < comm.size(); ++root) {
      const bool here = comm.rank() == root;
      for (const index_t count : sizes) {
        Parts parts;
        parts.make_even(comm.size(), count);
        const Numbers in = values(DType::i16, comm.rank(), count);
        Numbers out(DType::i16, here ? count * comm.size() : 0);
        comm.gather(in.memory(), out.memory(), root);
        EXPECT_TRUE(
            same(out, arranged(DType::i16, out.count(), here ? parts : Parts(),
                               [&](int rank, index_t i) { return value(DType::i16, rank, i); })));
      }
      for (const index_t scale : {1, 2000}) {
        const auto counts = uneven_counts(comm.size(), scale, root);
        const index_t mine = at_rank(counts, comm.rank());
        const Parts parts = here ? parts_with_gaps(counts) : Parts();
        Numbers in = values(DType::c64, comm.rank(), mine);
        Numbers out(DType::c64, parts.extent());
        comm.gather_v(in.memory(), out.memory(), parts, root);
        const auto expected = arranged(DType::c64, out.count(), parts, [&](int rank, index_t i) {
          return value(DType::c64, rank, i);
        });
        EXPECT_TRUE(same(out, expected));

        Numbers in_place(DType::c64, parts.extent());
        for (index_t i = 0; here && i < mine; ++i) in_place.set(parts.offset(root) + i, in[i]);
        const BufferRef from = here ? in_place.part(parts.offset(root), mine) : in.memory();
        comm.gather_v(from, in_place.memory(), parts, root);
        EXPECT_TRUE(same(in_place, expected));
      }
    }
  });
}

TEST(ConformanceScatter, scatters_parts_from_every_root) {
  on_ranks([](Comm comm) {
    for (int root = 0; root < comm.size(); ++root) {
      const bool here = comm.rank() == root;
      for (const index_t count : sizes) {
        const Numbers in(DType::u32, here ? count * comm.size() : 0,
                         [&](index_t i) { return value(DType::u32, root, i); });
        Numbers out(DType::u32, count);
        comm.scatter(in.memory(), out.memory(), root);
        EXPECT_TRUE(same(out, Numbers(DType::u32, count, [&](index_t i) {
                           return value(DType::u32, root, comm.rank() * count + i);
                         })));
      }
      for (const index_t scale : {1, 2000}) {
        const auto counts = uneven_counts(comm.size(), scale, root);
        const Parts parts = here ? parts_with_gaps(counts) : Parts();
        Numbers in = arranged(DType::f32, parts.extent(), parts,
                              [&](int rank, index_t i) { return sent(DType::f32, root, rank, i); });
        const Numbers before = in;
        Numbers out(DType::f32, at_rank(counts, comm.rank()));
        comm.scatter_v(in.memory(), parts, out.memory(), root);
        const Numbers expected(DType::f32, out.count(),
                               [&](index_t i) { return sent(DType::f32, root, comm.rank(), i); });
        EXPECT_TRUE(same(out, expected));

        Numbers again(DType::f32, out.count());
        const BufferRef to = here ? in.part(parts.offset(root), out.count()) : again.memory();
        comm.scatter_v(in.memory(), parts, to, root);
        EXPECT_TRUE(same(in, before));
        if (!here) {
          EXPECT_TRUE(same(again, expected));
        }
      }
    }
  });
}

TEST(ConformanceAllToAll, exchanges_equal_parts_of_every_type) {
  on_ranks([](Comm comm) {
    for (const DType dtype : all_dtypes) {
      for (const index_t count : sizes) {
        Parts parts;
        parts.make_even(comm.size(), count);
        const index_t all = count * comm.size();
        const Numbers in = arranged(
            dtype, all, parts, [&](int to, index_t i) { return sent(dtype, comm.rank(), to, i); });
        Numbers out(dtype, all);
        comm.all_to_all(in.memory(), out.memory());
        EXPECT_TRUE(same(out, arranged(dtype, all, parts, [&](int from, index_t i) {
                           return sent(dtype, from, comm.rank(), i);
                         })));
      }
    }
  });
}

TEST(ConformanceAllToAll, exchanges_uneven_parts_and_keeps_gaps) {
  on_ranks([](Comm comm) {
    for (const index_t scale : {1, 40, 2000}) {
      const auto length = [&](int from, int to) { return (from + 2 * to) % 4 * scale; };
      std::vector<index_t> out_counts;
      std::vector<index_t> in_counts;
      for (int peer = 0; peer < comm.size(); ++peer) {
        out_counts.push_back(length(comm.rank(), peer));
        in_counts.push_back(length(peer, comm.rank()));
      }
      // Some ranks have consecutive parts, others parts with gaps.
      const auto lay = [&](const std::vector<index_t>& counts, int kind) {
        return kind % 2 == 0 ? Parts(counts) : parts_with_gaps(counts);
      };
      for (int kind = 0; kind < 4; ++kind) {
        const Parts to = lay(out_counts, kind + comm.rank());
        const Parts from = lay(in_counts, kind / 2);
        const Numbers data = arranged(DType::i64, to.extent(), to, [&](int peer, index_t i) {
          return sent(DType::i64, comm.rank(), peer, i);
        });
        Numbers out(DType::i64, from.extent() + 4);
        comm.all_to_all_v(data.memory(), to, out.memory(), from);
        EXPECT_TRUE(same(out, arranged(DType::i64, out.count(), from, [&](int peer, index_t i) {
                           return sent(DType::i64, peer, comm.rank(), i);
                         })));
      }
    }
  });
}

}  // namespace weft::test
