// What every transport must do. The suite runs as it is on each of them, with any number of ranks.

#include "support/data.hpp"
#include "support/ranks.hpp"

#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <thread>

namespace weft::test {
namespace {

// The thread transport sends up to 496 bytes in another way than more.
constexpr std::array<index_t, 7> sizes = {0, 1, 3, 61, 62, 63, 500};

index_t at_rank(const std::vector<index_t>& counts, int rank) {
  return counts[static_cast<std::size_t>(rank)];
}

/// Some ranks have nothing, and no two neighbours the same.
std::vector<index_t> uneven_counts(int ranks, index_t scale, int shift = 0) {
  std::vector<index_t> counts;
  for (int rank = 0; rank < ranks; ++rank) counts.push_back((rank + shift) % 3 * scale);
  return counts;
}

/// The parts in reverse order, with unused elements around them.
Parts parts_with_gaps(const std::vector<index_t>& counts) {
  std::vector<index_t> offsets(counts.size());
  index_t end = 3;
  for (std::size_t rank = counts.size(); rank-- > 0;) {
    offsets[rank] = end;
    end += counts[rank] + 2;
  }
  return Parts(counts, offsets);
}

/// The element i of the part that `from` sends to `to`.
Number sent(DType dtype, int from, int to, index_t i) { return value(dtype, from * 100 + to, i); }

/// Part r of an array of `count` elements holds what part(r, i) says; the rest is untouched.
Numbers arranged(DType dtype, index_t count, const Parts& parts,
                 const std::function<Number(int, index_t)>& part) {
  Numbers all(dtype, count);
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    for (index_t i = 0; i < parts.count(rank); ++i) all.set(parts.offset(rank) + i, part(rank, i));
  }
  return all;
}

void expect_works(const Comm& comm) {
  EXPECT_EQ(comm.allreduce(comm.rank() + 1), comm.size() * (comm.size() + 1) / 2);
}

}  // namespace

TEST(ConformanceWorld, has_the_ranks_that_were_asked_for) {
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

TEST(ConformanceBarrier, lets_nobody_go_before_all_have_come) {
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
    if (comm.checks_calls()) comm.check_calls(false);  // which would wait for the others at once
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

TEST(ConformanceBroadcast, brings_every_type_from_every_root) {
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

TEST(ConformanceAllGather, collects_equal_parts_of_every_type) {
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

TEST(ConformanceAllGather, collects_uneven_parts_and_leaves_gaps_alone) {
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

TEST(ConformanceGather, collects_parts_on_every_root) {
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

TEST(ConformanceScatter, deals_parts_from_every_root) {
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

TEST(ConformanceAllToAll, exchanges_uneven_parts_and_leaves_gaps_alone) {
  on_ranks([](Comm comm) {
    for (const index_t scale : {1, 40, 2000}) {
      const auto length = [&](int from, int to) { return (from + 2 * to) % 4 * scale; };
      std::vector<index_t> out_counts;
      std::vector<index_t> in_counts;
      for (int peer = 0; peer < comm.size(); ++peer) {
        out_counts.push_back(length(comm.rank(), peer));
        in_counts.push_back(length(peer, comm.rank()));
      }
      // Some ranks have their parts in a row, others spread out.
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

// Reductions

TEST(ConformanceAllreduce, has_every_op_of_every_type) {
  on_ranks([](Comm comm) {
    for (const DType dtype : all_dtypes) {
      for (const ReduceOp op : all_ops) {
        if (!has_op(dtype, op) || op == ReduceOp::avg) continue;
        for (const index_t count : sizes) {
          const Numbers expected = reduced(op, dtype, comm.size(), count);
          Numbers in = inputs(op, dtype, comm.rank(), count);
          Numbers out(dtype, count);
          comm.allreduce(in.memory(), out.memory(), op);
          EXPECT_TRUE(same(out, expected)) << to_string(op);
          EXPECT_TRUE(same(in, inputs(op, dtype, comm.rank(), count)));
          comm.allreduce(in.memory(), op);
          EXPECT_TRUE(same(in, expected)) << to_string(op);
        }
      }
    }
  });
}

TEST(ConformanceReduce, brings_every_op_to_every_root) {
  on_ranks([](Comm comm) {
    for (const DType dtype : all_dtypes) {
      for (const ReduceOp op : all_ops) {
        if (!has_op(dtype, op) || op == ReduceOp::avg) continue;
        const int root = static_cast<int>(op) % comm.size();
        for (const index_t count : {0, 1, 5, 300}) {
          const Numbers expected =
              comm.rank() == root ? reduced(op, dtype, comm.size(), count) : Numbers(dtype, count);
          Numbers in = inputs(op, dtype, comm.rank(), count);
          Numbers out(dtype, count);
          comm.reduce(in.memory(), out.memory(), op, root);
          EXPECT_TRUE(same(out, expected)) << to_string(op);
          EXPECT_TRUE(same(in, inputs(op, dtype, comm.rank(), count)));
          comm.reduce(in.memory(), comm.rank() == root ? in.memory() : BufferRef(), op, root);
          EXPECT_TRUE(
              same(in, comm.rank() == root ? expected : inputs(op, dtype, comm.rank(), count)));
        }
      }
    }
    for (int root = 0; root < comm.size(); ++root) {
      const std::vector<double> mine(100, comm.rank());
      std::vector<double> total(100, -1);
      comm.reduce(mine, total, ReduceOp::max, root);
      EXPECT_EQ(total.back(), comm.rank() == root ? comm.size() - 1 : -1);
    }
  });
}

TEST(ConformanceReduceScatter, leaves_equal_parts_of_every_op_and_type) {
  on_ranks([](Comm comm) {
    for (const DType dtype : all_dtypes) {
      for (const ReduceOp op : all_ops) {
        if (!has_op(dtype, op) || op == ReduceOp::avg) continue;
        for (const index_t count : {0, 1, 5, 90}) {
          const index_t first = comm.rank() * count;
          const Numbers total = reduced(op, dtype, comm.size(), count * comm.size());
          const Numbers expected(dtype, count, [&](index_t i) { return total[first + i]; });
          Numbers in = inputs(op, dtype, comm.rank(), count * comm.size());
          Numbers out(dtype, count);
          comm.reduce_scatter(in.memory(), out.memory(), op);
          EXPECT_TRUE(same(out, expected)) << to_string(op);

          comm.reduce_scatter(in.memory(), in.part(first, count), op);
          EXPECT_TRUE(
              same(Numbers(dtype, count, [&](index_t i) { return in[first + i]; }), expected));
        }
      }
    }
  });
}

TEST(ConformanceReduceScatter, leaves_uneven_parts_from_anywhere) {
  on_ranks([](Comm comm) {
    for (const index_t scale : {1, 50, 3000}) {
      const auto counts = uneven_counts(comm.size(), scale, 1);
      for (const Parts& parts : {Parts(counts), parts_with_gaps(counts)}) {
        const index_t first = parts.offset(comm.rank());
        const index_t mine = at_rank(counts, comm.rank());
        const Numbers total = reduced(ReduceOp::sum, DType::f64, comm.size(), parts.extent());
        const Numbers expected(DType::f64, mine, [&](index_t i) { return total[first + i]; });
        Numbers in = inputs(ReduceOp::sum, DType::f64, comm.rank(), parts.extent());
        Numbers out(DType::f64, mine);
        comm.reduce_scatter_v(in.memory(), parts, out.memory());
        EXPECT_TRUE(same(out, expected));
        comm.reduce_scatter_v(in.memory(), parts, in.part(first, mine));
        EXPECT_TRUE(
            same(Numbers(DType::f64, mine, [&](index_t i) { return in[first + i]; }), expected));
      }
    }
  });
}

TEST(ConformanceAllreduce, averages) {
  on_ranks([](Comm comm) {
    const index_t count = 70;
    const auto check = [&](auto example, auto divided) {
      using T = decltype(example);
      const DType dtype = dtype_of<T>;
      const Numbers sum = reduced(ReduceOp::sum, dtype, comm.size(), count);
      const Numbers mine = values(dtype, comm.rank(), count);
      std::vector<T> data;
      for (index_t i = 0; i < count; ++i) data.push_back(element<T>(mine[i]));
      std::vector<T> out(data.size());
      comm.allreduce(data, out, ReduceOp::avg);
      comm.allreduce(data, ReduceOp::avg);
      EXPECT_TRUE(same_bits(data.data(), out.data(), data.size() * sizeof(T)));
      for (index_t i = 0; i < count; ++i) {
        EXPECT_EQ(data[static_cast<std::size_t>(i)], divided(sum[i])) << to_string(dtype);
      }
    };
    const auto n = comm.size();
    check(float{}, [&](Number x) { return static_cast<float>(x.re) / static_cast<float>(n); });
    check(double{}, [&](Number x) { return static_cast<double>(x.re) / n; });
    check(Half{}, [&](Number x) { return Half(static_cast<float>(x.re) / static_cast<float>(n)); });
    check(BFloat16{},
          [&](Number x) { return BFloat16(static_cast<float>(x.re) / static_cast<float>(n)); });
    check(std::complex<double>{}, [&](Number x) {
      return std::complex<double>(static_cast<double>(x.re) / n, static_cast<double>(x.im) / n);
    });
    check(std::complex<float>{}, [&](Number x) {
      return std::complex<float>(static_cast<float>(x.re) / static_cast<float>(n),
                                 static_cast<float>(x.im) / static_cast<float>(n));
    });
  });
}

TEST(ConformanceAllreduce, averages_the_parts_of_complex_numbers_apart) {
  on_ranks([](Comm comm) {
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<std::complex<double>> data = {{0.1, infinity}, {1e-310, 0.7}};
    comm.allreduce(data, ReduceOp::avg);
    EXPECT_NEAR(data[0].real(), 0.1, 1e-15);
    EXPECT_EQ(data[0].imag(), infinity);
    EXPECT_NEAR(data[1].imag(), 0.7, 1e-15);
  });
}

TEST(ConformanceAllreduce, takes_large_arrays) {
  on_ranks([](Comm comm) {
    const index_t many = 1'000'003;
    std::vector<double> data(static_cast<std::size_t>(many));
    std::vector<double> expected(data.size());
    for (index_t i = 0; i < many; ++i) {
      for (int rank = 0; rank < comm.size(); ++rank) {
        const double x = static_cast<double>(i % 1009) + static_cast<double>(rank * (i % 13));
        if (rank == comm.rank()) data[static_cast<std::size_t>(i)] = x;
        expected[static_cast<std::size_t>(i)] += x;
      }
    }
    std::vector<double> out(data.size());
    comm.allreduce(data, out);
    EXPECT_TRUE(out == expected);
    comm.allreduce(data);
    EXPECT_TRUE(data == expected);

    const index_t fewer = 300'001;
    Numbers numbers = values(DType::c64, comm.rank(), fewer);
    comm.allreduce(numbers.memory());
    EXPECT_TRUE(same(numbers, reduced(ReduceOp::sum, DType::c64, comm.size(), fewer)));
  });
}

TEST(ConformanceAllreduce, takes_sizes_around_the_limit_of_small_messages) {
  on_ranks([](Comm comm) {
    for (index_t count = 490; count <= 502; ++count) {
      Numbers data = values(DType::u8, comm.rank(), count);
      comm.allreduce(data.memory());
      EXPECT_TRUE(same(data, reduced(ReduceOp::sum, DType::u8, comm.size(), count)));
      Numbers from = values(DType::u8, comm.rank(), count);
      comm.broadcast(from.memory(), comm.size() - 1);
      EXPECT_TRUE(same(from, values(DType::u8, comm.size() - 1, count)));
    }
  });
}

TEST(ConformanceAllreduce, reduces_one_number) {
  on_ranks([](Comm comm) {
    EXPECT_EQ(comm.allreduce(comm.rank(), ReduceOp::max), comm.size() - 1);
    EXPECT_EQ(comm.allreduce(1.5), 1.5 * comm.size());
    EXPECT_EQ(comm.allreduce(std::complex<float>(0, 1)),
              std::complex<float>(0, static_cast<float>(comm.size())));
  });
}

// Floating-point numbers in the order of ranks: a promise of the thread transport only.

namespace {

double fraction(int rank, index_t i) {
  return static_cast<double>(mixed(rank, i) >> 11) * 0x1p-53 * (i % 3 == 0 ? 1e9 : 1.0) - 0.3;
}

template <class T>
void expect_rank_order(const Comm& comm, index_t count) {
  std::vector<T> in;
  std::vector<T> expected;
  for (index_t i = 0; i < count; ++i) {
    in.push_back(static_cast<T>(fraction(comm.rank(), i)));
    T total = static_cast<T>(fraction(0, i));
    for (int rank = 1; rank < comm.size(); ++rank) total += static_cast<T>(fraction(rank, i));
    expected.push_back(total);
  }
  const auto equal = [&](const std::vector<T>& seen, index_t first) {
    return same_bits(seen.data(), expected.data() + first, seen.size() * sizeof(T));
  };
  std::vector<T> out(in.size());
  comm.allreduce(in, out);
  EXPECT_TRUE(equal(out, 0)) << "allreduce of " << count;
  out.assign(out.size(), T{});
  comm.start_allreduce(in, out).wait();
  EXPECT_TRUE(equal(out, 0)) << "start_allreduce of " << count;
  const int root = comm.size() / 2;
  comm.reduce(in, out, ReduceOp::sum, root);
  if (comm.rank() == root) {
    EXPECT_TRUE(equal(out, 0)) << "reduce of " << count;
  }
  const index_t share = count / comm.size();
  std::vector<T> part(static_cast<std::size_t>(share));
  comm.reduce_scatter(std::span(in).first(static_cast<std::size_t>(share * comm.size())), part);
  EXPECT_TRUE(equal(part, comm.rank() * share)) << "reduce_scatter of " << count;
  std::vector<T> in_place = in;
  comm.allreduce(in_place);
  EXPECT_TRUE(equal(in_place, 0)) << "allreduce in place of " << count;
}

}  // namespace

TEST(ConformanceFloats, are_added_in_the_order_of_ranks) {
  if (world() == World::mpi) GTEST_SKIP() << "MPI adds in an order of its own";
  on_ranks([](Comm comm) {
    for (const index_t count : {1, 7, 60, 130, 4097, 50'000}) {
      expect_rank_order<float>(comm, count);
      expect_rank_order<double>(comm, count);
    }
  });
}

TEST(ConformanceFloats, give_the_same_bits_on_all_ranks) {
  if (world() == World::mpi) GTEST_SKIP() << "MPI does not promise it";
  on_ranks([](Comm comm) {
    for (const index_t count : {3, 5000}) {
      std::vector<std::complex<float>> data;
      for (index_t i = 0; i < count; ++i) {
        data.emplace_back(static_cast<float>(fraction(comm.rank(), i)),
                          static_cast<float>(fraction(comm.rank(), i + count)));
      }
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::avg}) {
        auto result = data;
        comm.allreduce(result, op);
        auto first = result;
        comm.broadcast(first, 0);
        EXPECT_TRUE(same_bits(first.data(), result.data(), first.size() * sizeof(first[0])));
      }
    }
  });
}

TEST(ConformanceFloats, of_16_bits_are_rounded_once) {
  if (world() == World::mpi) GTEST_SKIP() << "MPI rounds at every step";
  on_ranks([](Comm comm) {
    // The largest number up to which all whole ones exist, and a one from everybody else: if each
    // sum were rounded, the ones would vanish.
    for (const std::size_t count : {1U, 400U}) {
      std::vector<Half> half(count, Half(comm.rank() == 0 ? 2048.0F : 1.0F));
      std::vector<BFloat16> brain(count, BFloat16(comm.rank() == 0 ? 256.0F : 1.0F));
      comm.allreduce(half);
      comm.allreduce(brain);
      const auto others = static_cast<float>(comm.size() - 1);
      EXPECT_EQ(half.back(), Half(2048.0F + others));
      EXPECT_EQ(brain.back(), BFloat16(256.0F + others));
      if (comm.size() >= 3) {
        EXPECT_GT(static_cast<float>(half.back()), 2048.0F);
        EXPECT_GT(static_cast<float>(brain.back()), 256.0F);
      }
    }
  });
}

// Messages

TEST(ConformanceMessages, go_around_a_ring) {
  on_ranks([](Comm comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    for (const DType dtype : all_dtypes) {
      for (const index_t count : {0, 1, 62, 63, 20'000}) {
        const Numbers mine = values(dtype, comm.rank(), count);
        Numbers theirs(dtype, count);
        comm.sendrecv(mine.memory(), next, theirs.memory(), previous);
        EXPECT_TRUE(same(theirs, values(dtype, previous, count)));
      }
    }
  });
}

TEST(ConformanceMessages, may_differ_in_size_between_pairs) {
  on_ranks([](Comm comm) {
    // Everyone sends to everyone, itself included, a message whose size both know.
    const auto length = [](int from, int to) { return from * 37 + to * 101; };
    std::vector<Numbers> out;
    std::vector<Numbers> in;
    std::vector<Request> requests;
    for (int peer = 0; peer < comm.size(); ++peer) {
      out.push_back(values(DType::f32, comm.rank() * 10 + peer, length(comm.rank(), peer)));
      in.emplace_back(DType::f32, length(peer, comm.rank()));
    }
    for (int peer = 0; peer < comm.size(); ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      requests.push_back(comm.start_send(out[at].memory(), peer));
      requests.push_back(comm.start_recv(in[at].memory(), peer));
    }
    for (Request& request : requests) request.wait();
    for (int peer = 0; peer < comm.size(); ++peer) {
      EXPECT_TRUE(same(in[static_cast<std::size_t>(peer)],
                       values(DType::f32, peer * 10 + comm.rank(), length(peer, comm.rank()))));
    }
  });
}

TEST(ConformanceMessages, may_be_sent_to_oneself) {
  on_ranks([](Comm comm) {
    const std::vector<int> out = {1, 2, comm.rank()};
    std::vector<int> in(3);
    comm.sendrecv(out, comm.rank(), in, comm.rank());
    EXPECT_EQ(in, out);

    std::vector<int> again(3);
    Request sending = comm.start_send(out, comm.rank());
    comm.recv(again, comm.rank());
    sending.wait();
    EXPECT_EQ(again, out);

    std::vector<int> last(3);
    Request receiving = comm.start_recv(last, comm.rank());
    EXPECT_FALSE(receiving.test());
    comm.send(out, comm.rank());
    receiving.wait();
    EXPECT_EQ(last, out);
  });
}

TEST(ConformanceMessages, keep_their_order) {
  on_ranks([](Comm comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    constexpr int messages = 50;
    std::vector<std::vector<int>> out;
    std::vector<std::vector<int>> in;
    for (int i = 0; i < messages; ++i) {
      const auto length = static_cast<std::size_t>(i % 5 * 40);
      out.emplace_back(length, comm.rank() * 1000 + i);
      in.emplace_back(length, -1);
    }
    std::vector<Request> requests;
    for (auto& each : out) requests.push_back(comm.start_send(each, next));
    for (auto& each : in) requests.push_back(comm.start_recv(each, previous));
    for (auto request = requests.rbegin(); request != requests.rend(); ++request) request->wait();
    for (int i = 0; i < messages; ++i) {
      for (const int seen : in[static_cast<std::size_t>(i)]) {
        EXPECT_EQ(seen, previous * 1000 + i);
      }
    }
  });
}

TEST(ConformanceMessages, follow_one_another_without_being_mixed_up) {
  on_ranks([](Comm comm) {
    // Blocking calls, many times: a token that goes round and grows.
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    if (comm.size() == 1) return;
    std::vector<std::int64_t> token = {0};
    for (int round = 0; round < 200; ++round) {
      if (comm.rank() == 0) {
        comm.send(token, next);
        comm.recv(token, previous);
        EXPECT_EQ(token[0], (round + 1) * (comm.size() - 1));
      } else {
        comm.recv(token, previous);
        ++token[0];
        comm.send(token, next);
      }
    }
  });
}

TEST(ConformanceMessages, in_a_group_are_exchanged_as_often_as_it_is_run) {
  on_ranks([](Comm comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<double> to_next(700);
    std::vector<double> to_previous(3);
    std::vector<double> from_next(3);
    std::vector<double> from_previous(700);
    std::vector<double> nothing;
    MessageBatch group(comm);
    group.send(to_next, next).send(nothing, next).send(to_previous, previous);
    // With two ranks both neighbours are one, and messages match in the order they were added.
    group.recv(from_previous, previous).recv(nothing, previous).recv(from_next, next);
    for (int round = 0; round < 10; ++round) {
      to_next.assign(700, comm.rank() + 0.5 * round);
      to_previous.assign(3, -comm.rank() - 0.25 * round);
      if (round % 2 == 0) {
        group.run();
      } else {
        group.start();
        expect_works(comm);
        group.finish();
      }
      EXPECT_EQ(from_previous, std::vector<double>(700, previous + 0.5 * round));
      EXPECT_EQ(from_next, std::vector<double>(3, -next - 0.25 * round));
    }
    EXPECT_THROW(group.send(to_next, comm.size()), ArgumentError);
    EXPECT_THROW(group.recv(to_next, -1), ArgumentError);
  });
}

TEST(ConformanceMessages, in_a_group_cannot_be_started_twice) {
  on_ranks([](Comm comm) {
    std::vector<int> out = {comm.rank()};
    std::vector<int> in(1);
    MessageBatch group(comm);
    group.send(out, comm.rank()).recv(in, comm.rank());
    group.start();
    EXPECT_THROW(group.start(), ArgumentError);
    group.finish();
    EXPECT_EQ(in, out);
    MessageBatch empty(comm);
    empty.run();
  });
}

// Requests

TEST(ConformanceRequests, may_be_many_at_once) {
  on_ranks([](Comm comm) {
    for (const bool reverse : {false, true}) {
      std::vector<Numbers> in;
      std::vector<Numbers> out;
      std::vector<Request> requests;
      constexpr int calls = 21;
      const auto count = [](int call) { return call % 3 == 0 ? 5 : call * 100; };
      for (int call = 0; call < calls; ++call) {
        in.push_back(values(DType::f64, comm.rank() + call, count(call)));
        out.emplace_back(DType::f64, count(call));
      }
      for (int call = 0; call < calls; ++call) {
        const auto at = static_cast<std::size_t>(call);
        requests.push_back(comm.start_allreduce(in[at].memory(), out[at].memory()));
      }
      if (reverse) std::reverse(requests.begin(), requests.end());
      for (Request& request : requests) request.wait();
      for (int call = 0; call < calls; ++call) {
        const Numbers expected(DType::f64, count(call), [&](index_t i) {
          Number sum;
          for (int rank = 0; rank < comm.size(); ++rank) {
            sum = combine(ReduceOp::sum, sum, value(DType::f64, rank + call, i));
          }
          return sum;
        });
        EXPECT_TRUE(same(out[static_cast<std::size_t>(call)], expected));
      }
    }
  });
}

namespace {

/// One call of each kind, all under way at the same time.
class EverythingAtOnce {
 public:
  EverythingAtOnce(Comm comm, index_t count)
      : comm_(std::move(comm)),
        root_(comm_.size() - 1),
        next_((comm_.rank() + 1) % comm_.size()),
        previous_((comm_.rank() + comm_.size() - 1) % comm_.size()),
        count_(count),
        parts_(std::vector<index_t>(static_cast<std::size_t>(comm_.size()), count)),
        mine_(values(DType::f64, comm_.rank(), count)),
        whole_(values(DType::f64, comm_.rank(), count * comm_.size())) {}

  std::vector<Request> start() {
    const index_t all = count_ * comm_.size();
    const bool here = comm_.rank() == root_;
    out_.clear();
    out_.reserve(8);
    std::vector<Request> requests;
    // NCCL runs the calls of a communicator in their order: there, a receive that comes before a
    // collective must not wait for a send that comes after it.
    const bool in_order =
        message_device().kind == DeviceKind::cuda && comm_.route(message_device()).name == "nccl";
    const BufferRef received = room(count_);
    if (!in_order) requests.push_back(comm_.start_recv(received, previous_));
    requests.push_back(comm_.start_barrier());
    out_.push_back(mine_);
    requests.push_back(comm_.start_broadcast(out_.back().memory(), root_));
    requests.push_back(comm_.start_allreduce(mine_.memory(), room(count_)));
    requests.push_back(comm_.start_reduce(mine_.memory(), room(count_), ReduceOp::max, root_));
    requests.push_back(comm_.start_reduce_scatter_v(whole_.memory(), parts_, room(count_)));
    requests.push_back(comm_.start_all_gather_v(mine_.memory(), room(all), parts_));
    if (in_order) requests.push_back(comm_.start_recv(received, previous_));
    requests.push_back(comm_.start_send(mine_.memory(), next_));
    requests.push_back(comm_.start_gather_v(mine_.memory(), room(here ? all : 0), parts_, root_));
    requests.push_back(comm_.start_scatter_v(whole_.memory(), parts_, room(count_), root_));
    Numbers& exchanged = exchanged_.emplace_back(DType::f64, all);
    requests.push_back(
        comm_.start_all_to_all_v(whole_.memory(), parts_, exchanged.memory(), parts_));
    return requests;
  }

  void check() const {
    const int size = comm_.size();
    const bool here = comm_.rank() == root_;
    const index_t first = comm_.rank() * count_;
    const auto gathered = arranged(DType::f64, count_ * size, parts_,
                                   [&](int rank, index_t i) { return value(DType::f64, rank, i); });
    const Numbers sums = reduced(ReduceOp::sum, DType::f64, size, count_ * size);
    EXPECT_TRUE(same(out_[0], values(DType::f64, previous_, count_)));
    EXPECT_TRUE(same(out_[1], values(DType::f64, root_, count_)));
    EXPECT_TRUE(same(out_[2], reduced(ReduceOp::sum, DType::f64, size, count_)));
    EXPECT_TRUE(same(out_[3], here ? reduced(ReduceOp::max, DType::f64, size, count_)
                                   : Numbers(DType::f64, count_)));
    EXPECT_TRUE(
        same(out_[4], Numbers(DType::f64, count_, [&](index_t i) { return sums[first + i]; })));
    EXPECT_TRUE(same(out_[5], gathered));
    EXPECT_TRUE(same(out_[6], here ? gathered : Numbers(DType::f64, 0)));
    EXPECT_TRUE(same(out_[7], Numbers(DType::f64, count_, [&](index_t i) {
                       return value(DType::f64, root_, first + i);
                     })));
    EXPECT_TRUE(same(exchanged_.back(),
                     arranged(DType::f64, count_ * size, parts_, [&](int rank, index_t i) {
                       return value(DType::f64, rank, first + i);
                     })));
  }

 private:
  BufferRef room(index_t count) { return out_.emplace_back(DType::f64, count).memory(); }

  Comm comm_;
  int root_;
  int next_;
  int previous_;
  index_t count_;
  Parts parts_;
  Numbers mine_;
  Numbers whole_;
  std::vector<Numbers> out_;
  std::vector<Numbers> exchanged_;
};

}  // namespace

TEST(ConformanceRequests, of_all_kinds_are_under_way_together) {
  on_ranks([](Comm comm) {
    for (const index_t count : {0, 1, 20, 3000}) {
      EverythingAtOnce calls(comm, count);
      for (Request& request : calls.start()) request.wait();
      calls.check();

      std::vector<Request> requests = calls.start();
      std::reverse(requests.begin(), requests.end());
      for (Request& request : requests) request.wait();
      calls.check();
    }
  });
}

TEST(ConformanceRequests, can_be_tested_until_they_are_complete) {
  on_ranks([](Comm comm) {
    EverythingAtOnce calls(comm, 500);
    std::vector<Request> requests = calls.start();
    bool complete = false;
    while (!complete) {
      complete = true;
      for (Request& request : requests) complete = request.test() && complete;
      if (!complete) std::this_thread::yield();
    }
    calls.check();
    for (Request& request : requests) request.wait();
  });
}

TEST(ConformanceRequests, wait_when_destroyed) {
  on_ranks([](Comm comm) {
    EverythingAtOnce calls(comm, 500);
    calls.start().clear();
    calls.check();
  });
}

TEST(ConformanceRequests, can_be_moved_and_replaced) {
  on_ranks([](Comm comm) {
    Request none;
    EXPECT_TRUE(none.test());
    none.wait();
    const std::vector<int> in(1000, 1);
    std::vector<int> first(1000);
    std::vector<int> second(1000);
    Request request = comm.start_allreduce(in, first);
    request = comm.start_allreduce(in, second);
    EXPECT_EQ(first, std::vector<int>(1000, comm.size()));
    Request moved = std::move(request);
    moved.wait();
    EXPECT_EQ(second, std::vector<int>(1000, comm.size()));
  });
}

TEST(ConformanceRequests, mix_with_blocking_calls) {
  on_ranks([](Comm comm) {
    const std::vector<double> in(5000, comm.rank() + 1.0);
    const double total = comm.size() * (comm.size() + 1) / 2.0;
    for (int round = 0; round < 20; ++round) {
      std::vector<double> large(5000);
      std::vector<double> small(2);
      Request one = comm.start_allreduce(in, large);
      Request two = comm.start_allreduce(std::span(in).first(2), small);
      expect_works(comm);
      std::vector<double> blocking(5000);
      comm.allreduce(in, blocking);
      comm.barrier();
      two.wait();
      one.wait();
      EXPECT_EQ(large, std::vector<double>(5000, total));
      EXPECT_EQ(small, std::vector<double>(2, total));
      EXPECT_EQ(blocking, large);
    }
  });
}

// Communicators from communicators

TEST(ConformanceSplit, by_parity_makes_two) {
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

TEST(ConformanceSplit, leaves_ranks_without_color_out) {
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

TEST(ConformanceSplit, keeps_traffic_apart_from_that_of_the_parent) {
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
    // Sent on one first, received on the other first.
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

TEST(ConformanceSplit, makes_communicators_that_are_not_equal) {
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

TEST(ConformanceSplit, makes_progress_in_all_communicators_at_once) {
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

TEST(ConformanceSplit, leaves_a_rank_without_a_communicator_an_error) {
  on_ranks([](Comm comm) {
    const Comm none = comm.split(-1);
    ASSERT_FALSE(none.valid());
    EXPECT_THROW(none.barrier(), ArgumentError);
    EXPECT_THROW(static_cast<void>(none.size()), ArgumentError);
    EXPECT_THROW(none.allreduce(1.0), ArgumentError);
    expect_works(comm);
  });
}

// Memory of a device that the transport does not take

namespace {

template <class T>
Buffer<T> on_debug(const std::vector<T>& values) {
  Buffer<T> buffer(static_cast<index_t>(values.size()), other_device());
  copy_bytes(buffer.data(), buffer.device(), values.data(), Device::cpu(),
             values.size() * sizeof(T));
  return buffer;
}

template <class T>
std::vector<T> on_host(const Buffer<T>& buffer) {
  std::vector<T> values(static_cast<std::size_t>(buffer.size()));
  copy_bytes(values.data(), Device::cpu(), buffer.data(), buffer.device(),
             values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST(ConformanceDevice, communicator_says_where_arrays_are) {
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

TEST(ConformanceDevice, memory_is_gathered_with_gaps_left_alone) {
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

TEST(ConformanceDevice, memory_is_dealt_and_exchanged) {
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

TEST(ConformanceDevice, memory_is_reduced_and_dealt_in_place) {
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

      // One side on the device is enough where both travel the same way.
      const std::string route = comm.route(other_device()).name;
      if (route == "staged" || route == comm.transport()) {
        std::vector<int> host(count, -1);
        comm.sendrecv(out, next, host, previous);
        EXPECT_EQ(host, std::vector<int>(count, previous));
      }

      auto again = on_debug(std::vector<int>(count, -1));
      MessageBatch group(comm);
      group.send(out, next).recv(again, previous);
      group.run();
      EXPECT_EQ(on_host(again), std::vector<int>(count, previous));
    }
  });
}

// Arguments that cannot be right: refused on all ranks, before anything is sent.

TEST(ConformanceArguments, must_be_an_op_the_type_has) {
  on_ranks([](Comm comm) {
    int refused = 0;
    for (const DType dtype : all_dtypes) {
      for (const ReduceOp op : all_ops) {
        const bool bits = op >= ReduceOp::bit_and && op <= ReduceOp::bit_xor;
        const bool order = op == ReduceOp::min || op == ReduceOp::max;
        const bool missing = (bits && !is_integer(dtype)) || (order && is_complex_type(dtype)) ||
                             (op == ReduceOp::avg && is_integer(dtype));
        EXPECT_EQ(has_op(dtype, op), !missing);
        if (!missing) continue;
        ++refused;
        Numbers data(dtype, comm.size());
        Numbers out(dtype, comm.size());
        EXPECT_THROW(comm.allreduce(data.memory(), op), ArgumentError);
        EXPECT_THROW(comm.reduce(data.memory(), out.memory(), op, 0), ArgumentError);
        EXPECT_THROW(comm.reduce_scatter(data.memory(), out.part(0, 1), op), ArgumentError);
      }
    }
    EXPECT_EQ(refused, 6 * 3 + 2 * 2 + 8);
    expect_works(comm);
  });
}

TEST(ConformanceArguments, must_name_ranks_that_exist) {
  on_ranks([](Comm comm) {
    std::vector<int> data(1);
    std::vector<int> all(static_cast<std::size_t>(comm.size()));
    for (const int rank : {-1, comm.size(), 1'000'000}) {
      EXPECT_THROW(comm.broadcast(data, rank), ArgumentError);
      EXPECT_THROW(comm.reduce(data, data, ReduceOp::sum, rank), ArgumentError);
      EXPECT_THROW(comm.gather(data, all, rank), ArgumentError);
      EXPECT_THROW(comm.scatter(all, data, rank), ArgumentError);
      EXPECT_THROW(comm.send(data, rank), ArgumentError);
      EXPECT_THROW(comm.recv(data, rank), ArgumentError);
      EXPECT_THROW(comm.sendrecv(data, 0, all, rank), ArgumentError);
      EXPECT_THROW(comm.sendrecv(data, rank, all, 0), ArgumentError);
    }
    expect_works(comm);
  });
}

TEST(ConformanceArguments, must_fit_one_another) {
  on_ranks([](Comm comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<double> doubles(3 * ranks);
    std::vector<double> more(3 * ranks + 1);
    std::vector<double> three(3);
    std::vector<float> floats(3 * ranks);
    auto device = on_debug(doubles);
    const Parts parts(std::vector<index_t>(ranks, 3));
    const Parts too_many(std::vector<index_t>(ranks + 1, 0));
    const Parts too_long(std::vector<index_t>(ranks, 4));

    EXPECT_THROW(comm.allreduce(doubles, floats), ArgumentError);
    EXPECT_THROW(comm.allreduce(doubles, more), ArgumentError);
    EXPECT_THROW(comm.allreduce(doubles, device), ArgumentError);
    EXPECT_THROW(comm.reduce_scatter(doubles, floats), ArgumentError);
    EXPECT_THROW(comm.reduce_scatter(more, three), ArgumentError);
    EXPECT_THROW(comm.reduce_scatter(device, three), ArgumentError);
    EXPECT_THROW(comm.reduce_scatter_v(doubles, too_many, three), ArgumentError);
    EXPECT_THROW(comm.reduce_scatter_v(doubles, too_long, three), ArgumentError);
    EXPECT_THROW(comm.all_gather(three, more), ArgumentError);
    EXPECT_THROW(comm.all_gather(three, floats), ArgumentError);
    EXPECT_THROW(comm.all_gather(three, device), ArgumentError);
    EXPECT_THROW(comm.all_gather_v(three, doubles, too_many), ArgumentError);
    EXPECT_THROW(comm.all_gather_v(three, doubles, too_long), ArgumentError);
    EXPECT_THROW(comm.all_gather_v(std::span(more).first(2), doubles, parts), ArgumentError);
    EXPECT_THROW(comm.all_to_all(doubles, more), ArgumentError);
    EXPECT_THROW(comm.all_to_all(doubles, floats), ArgumentError);
    EXPECT_THROW(comm.all_to_all(doubles, device), ArgumentError);
    EXPECT_THROW(comm.all_to_all_v(doubles, too_long, more, parts), ArgumentError);
    EXPECT_THROW(comm.all_to_all_v(doubles, parts, more, too_many), ArgumentError);
    if (comm.size() > 1) {
      EXPECT_THROW(comm.all_to_all(more, more), ArgumentError);
    }
    EXPECT_THROW((void)comm.start_allreduce(doubles, more), ArgumentError);
    expect_works(comm);
  });
}

TEST(ConformanceArguments, must_not_overlap) {
  on_ranks([](Comm comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<double> data(8 * ranks);
    const std::span<double> all(data);
    const auto overlapping = all.subspan(2, 4);
    EXPECT_THROW(comm.allreduce(all.first(4), overlapping), ArgumentError);
    EXPECT_THROW(comm.allreduce(overlapping, all.first(4)), ArgumentError);
    EXPECT_THROW(comm.all_to_all(all, all), ArgumentError);
    const auto shifted =
        all.subspan(static_cast<std::size_t>(comm.rank()) * 4 + 1, 4);  // not quite its own part
    EXPECT_THROW(comm.all_gather(shifted, all.first(4 * ranks)), ArgumentError);
    EXPECT_THROW(comm.reduce_scatter(all.first(4 * ranks), shifted), ArgumentError);
    // Side by side is not overlapping, and nothing overlaps nothing.
    comm.allreduce(all.first(4), all.subspan(4, 4));
    comm.allreduce(all.subspan(2, 0), all.subspan(3, 0));
    expect_works(comm);
  });
}

TEST(ConformanceArguments, must_be_counts_that_exist) {
  on_ranks([](Comm comm) {
    double one = 0;
    const index_t half = index_t{1} << 62;  // as bytes, or times four, more than 64 bits hold
    const auto in = [&](index_t count) { return ConstBufferRef(&one, count); };
    const auto out = [&](index_t count) { return BufferRef(&one, count); };
    for (const index_t count : {index_t{-1}, half, std::numeric_limits<index_t>::max()}) {
      EXPECT_THROW(comm.broadcast(out(count), 0), ArgumentError) << count;
      EXPECT_THROW(comm.allreduce(out(count)), ArgumentError) << count;
      EXPECT_THROW(comm.reduce(in(count), out(count), ReduceOp::sum, 0), ArgumentError) << count;
      EXPECT_THROW(comm.reduce_scatter(in(count), out(count)), ArgumentError) << count;
      EXPECT_THROW(comm.all_gather(in(count), out(count)), ArgumentError) << count;
      EXPECT_THROW(comm.all_gather(in(count), out(0)), ArgumentError) << count;
      EXPECT_THROW(comm.gather(in(count), out(0), 0), ArgumentError) << count;
      EXPECT_THROW(comm.scatter(in(0), out(count), 0), ArgumentError) << count;
      EXPECT_THROW(comm.all_to_all(in(count), out(count)), ArgumentError) << count;
      EXPECT_THROW(comm.send(in(count), comm.rank()), ArgumentError) << count;
      EXPECT_THROW(comm.recv(out(count), comm.rank()), ArgumentError) << count;
    }
    expect_works(comm);
  });
}

TEST(ConformanceArguments, must_be_parts_that_exist) {
  const index_t huge = std::numeric_limits<index_t>::max();
  using Counts = std::vector<index_t>;
  EXPECT_THROW(Parts(Counts{1, -1}), ArgumentError);
  EXPECT_THROW(Parts(Counts{huge, 1}), ArgumentError);
  EXPECT_THROW(Parts(Counts{1, 1}, Counts{0}), ArgumentError);
  EXPECT_THROW(Parts(Counts{1}, Counts{-1}), ArgumentError);
  EXPECT_THROW(Parts(Counts{2}, Counts{huge - 1}), ArgumentError);
  EXPECT_THROW(Parts().make_even(2, -1), ArgumentError);
  EXPECT_THROW(Parts().make_even(3, huge / 2), ArgumentError);

  const Parts parts(Counts{2, 0, 3});
  EXPECT_EQ(parts.ranks(), 3);
  EXPECT_EQ(parts.offset(2), 2);
  EXPECT_EQ(parts.extent(), 5);
  EXPECT_FALSE(parts.even());
  EXPECT_TRUE(Parts(Counts{2, 2, 2}).even());
  EXPECT_FALSE(Parts(Counts{2, 2}, Counts{2, 0}).even());
  const Parts empty(Counts{0, 1}, Counts{100, 4});
  EXPECT_EQ(empty.extent(), 5) << "an empty part reaches nowhere";
  EXPECT_EQ(Parts().ranks(), 0);
}

TEST(ConformanceAgree, says_nothing_when_nobody_complains) {
  on_ranks([](Comm comm) {
    comm.agree();
    comm.agree("");
    expect_works(comm);
  });
}

TEST(ConformanceAgree, throws_the_same_text_on_all_ranks) {
  on_ranks([](Comm comm) {
    const int unhappy = comm.size() - 1;
    std::string seen;
    try {
      comm.agree(comm.rank() == unhappy ? "the grid is too small: " + std::string(700, 'x') : "");
    } catch (const AgreedError& error) {
      seen = error.what();
    }
    EXPECT_NE(seen.find("the grid is too small"), std::string::npos) << seen;
    EXPECT_NE(seen.find(std::string(700, 'x')), std::string::npos);
    const auto length = static_cast<index_t>(seen.size());
    EXPECT_EQ(comm.allreduce(length, ReduceOp::max), comm.allreduce(length, ReduceOp::min));
    std::vector<std::uint8_t> mine(seen.begin(), seen.end());
    std::vector<std::uint8_t> first = mine;
    comm.broadcast(first, 0);
    EXPECT_EQ(mine, first);
    expect_works(comm);
  });
}

}  // namespace weft::test
