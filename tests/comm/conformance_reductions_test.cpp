#include "comm/support/conformance.hpp"

#include <limits>
#include <numeric>

namespace weft::test {

TEST(ConformanceAllreduce, supports_every_op_of_every_type) {
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

TEST(ConformanceReduce, supports_every_op_and_root) {
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

TEST(ConformanceReduceScatter, supports_every_op_and_type) {
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

TEST(ConformanceReduceScatter, supports_uneven_parts_at_any_offset) {
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

TEST(ConformanceAllreduce, averages_real_and_imaginary_parts) {
  on_ranks([](Comm comm) {
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<std::complex<double>> data = {{0.1, infinity}, {1e-310, 0.7}};
    comm.allreduce(data, ReduceOp::avg);
    EXPECT_NEAR(data[0].real(), 0.1, 1e-15);
    EXPECT_EQ(data[0].imag(), infinity);
    EXPECT_NEAR(data[1].imag(), 0.7, 1e-15);
  });
}

TEST(ConformanceAllreduce, supports_large_arrays) {
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

TEST(ConformanceAllreduce, supports_sizes_around_the_limit_of_small_messages) {
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

// Floating-point sums in rank order, which only the thread transport guarantees.

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

TEST(ConformanceFloats, are_added_in_rank_order) {
  if (world() == World::mpi) GTEST_SKIP() << "MPI chooses the order of additions";
  on_ranks([](Comm comm) {
    for (const index_t count : {1, 7, 60, 130, 4097, 50'000}) {
      expect_rank_order<float>(comm, count);
      expect_rank_order<double>(comm, count);
    }
  });
}

TEST(ConformanceFloats, give_the_same_bits_on_all_ranks) {
  if (world() == World::mpi) GTEST_SKIP() << "MPI does not guarantee equal bits on all ranks";
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
    // The largest n with all integers up to n, plus 1 from every other rank: if each partial sum
    // were rounded, the ones would vanish.
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

}  // namespace weft::test
