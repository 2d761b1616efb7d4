#include "comm/support/conformance.hpp"

#include <weft/core/error.hpp>

#include <limits>
#include <string>

namespace weft::test {

// Invalid arguments are refused on all ranks before anything is sent.

TEST(ConformanceArguments, refuse_ops_that_the_type_lacks) {
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

TEST(ConformanceArguments, refuse_ranks_out_of_range) {
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

TEST(ConformanceArguments, must_match) {
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

TEST(ConformanceArguments, of_an_exchange_must_match_on_the_same_rank) {
  on_ranks([](Comm comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<index_t> counts(ranks, 4);
    counts[static_cast<std::size_t>(comm.rank())] = 2;
    const Parts sent(std::vector<index_t>(ranks, 4));
    const Parts received(counts);
    const std::vector<double> in(4 * ranks);
    std::vector<double> out(static_cast<std::size_t>(received.extent()));
    // An AgreedError if calls are checked.
    EXPECT_THROW(comm.all_to_all_v(in, sent, out, received), Error);
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
        all.subspan(static_cast<std::size_t>(comm.rank()) * 4 + 1, 4);  // overlaps its own part
    EXPECT_THROW(comm.all_gather(shifted, all.first(4 * ranks)), ArgumentError);
    EXPECT_THROW(comm.reduce_scatter(all.first(4 * ranks), shifted), ArgumentError);
    // Adjacent and empty buffers do not overlap.
    comm.allreduce(all.first(4), all.subspan(4, 4));
    comm.allreduce(all.subspan(2, 0), all.subspan(3, 0));
    expect_works(comm);
  });
}

TEST(ConformanceArguments, refuse_invalid_counts) {
  on_ranks([](Comm comm) {
    double one = 0;
    const index_t half = index_t{1} << 62;  // in bytes, or times four, beyond 64 bits
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

TEST(ConformanceArguments, refuse_invalid_parts) {
  const index_t huge = std::numeric_limits<index_t>::max();
  using Counts = std::vector<index_t>;
  EXPECT_THROW(Parts(Counts{1, -1}), ArgumentError);
  EXPECT_THROW(Parts(Counts{huge, 1}), ArgumentError);
  EXPECT_THROW(Parts(Counts{1, 1}, Counts{0}), ArgumentError);
  EXPECT_THROW(Parts(Counts{1}, Counts{-1}), ArgumentError);
  EXPECT_THROW(Parts(Counts{2}, Counts{huge - 1}), ArgumentError);
  EXPECT_THROW(Parts().make_even(2, -1), ArgumentError);
  EXPECT_THROW(Parts().make_even(-1, 2), ArgumentError);
  EXPECT_THROW(Parts().make_even(3, huge / 2), ArgumentError);

  const Parts parts(Counts{2, 0, 3});
  EXPECT_EQ(parts.ranks(), 3);
  EXPECT_EQ(parts.offset(2), 2);
  EXPECT_EQ(parts.extent(), 5);
  EXPECT_FALSE(parts.even());
  EXPECT_TRUE(Parts(Counts{2, 2, 2}).even());
  EXPECT_FALSE(Parts(Counts{2, 2}, Counts{2, 0}).even());
  const Parts empty(Counts{0, 1}, Counts{100, 4});
  EXPECT_EQ(empty.extent(), 5) << "an empty part has no extent";
  EXPECT_EQ(Parts().ranks(), 0);
}

TEST(ConformanceAgree, returns_without_errors) {
  on_ranks([](Comm comm) {
    comm.agree();
    comm.agree("");
    expect_works(comm);
  });
}

TEST(ConformanceAgree, throws_the_same_text_on_all_ranks) {
  on_ranks([](Comm comm) {
    const int failing = comm.size() - 1;
    std::string seen;
    try {
      comm.agree(comm.rank() == failing ? "the grid is too small: " + std::string(700, 'x') : "");
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
