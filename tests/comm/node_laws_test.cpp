// What holds for every allreduce through shared memory, in particular where it takes several steps:
// any op of any type, any length and alignment, any delays, and whatever happens to the input
// afterwards.

#include <weft/core/scalars.hpp>

#include "comm/support/node_boards.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft::test {
namespace {

using weft::detail::AllreduceRow;
using weft::detail::NodeArea;
using weft::detail::NodeBoard;

/// a op b, written apart from the kernels.
template <class W>
W apply_op(ReduceOp op, W a, W b) {
  if (op == ReduceOp::sum) return static_cast<W>(a + b);
  if (op == ReduceOp::prod) {
    if constexpr (detail::IsComplex<W>::value) {
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    } else if constexpr (std::is_integral_v<W>) {  // modulo a power of two, without overflow
      return static_cast<W>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
  if constexpr (!detail::IsComplex<W>::value) {
    if (op == ReduceOp::min) return b < a ? b : a;
    if (op == ReduceOp::max) return a < b ? b : a;
  }
  if constexpr (std::is_integral_v<W>) {
    if (op == ReduceOp::bit_and) return static_cast<W>(a & b);
    if (op == ReduceOp::bit_or) return static_cast<W>(a | b);
    if (op == ReduceOp::bit_xor) return static_cast<W>(a ^ b);
  }
  ADD_FAILURE() << "no op " << to_string(op);
  return a;
}

/// Factors of integers stay small, so that products of 16 do not overflow.
template <class T>
T input(ReduceOp op, int rank, index_t i) {
  if constexpr (std::is_integral_v<T>) {
    if (op == ReduceOp::prod) return static_cast<T>(rank % 4 == 3 ? 1 + mixed(rank, i) % 2 : 1);
  }
  return rough<T>(rank, i);
}

/// The op over the ranks in order. 16-bit floats are combined as floats, and rounded once.
template <class T>
T folded(ReduceOp op, int ranks, index_t i) {
  constexpr bool small = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
  using Wide = std::conditional_t<small, float, T>;
  auto result = static_cast<Wide>(input<T>(op, 0, i));
  for (int rank = 1; rank < ranks; ++rank) {
    result = apply_op(op, result, static_cast<Wide>(input<T>(op, rank, i)));
  }
  return static_cast<T>(result);
}

template <class T>
void expect_law(NodeBoard& board, const AllreduceRow& row, const Comm& comm, ReduceOp op,
                index_t count, bool in_place) {
  // One element after the start of the allocation: not aligned to more than the type.
  const auto elements = static_cast<std::size_t>(count);
  std::vector<T> in(elements + 1);
  std::vector<T> out(elements + 1);
  for (std::size_t i = 0; i < elements; ++i) {
    in[i + 1] = input<T>(op, comm.rank(), static_cast<index_t>(i));
  }
  T* const target = in_place ? in.data() + 1 : out.data() + 1;
  board.allreduce(row.algorithm, ConstBufferRef(in.data() + 1, count), BufferRef(target, count),
                  op);
  std::vector<T> expected(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    expected[i] = folded<T>(op, comm.size(), static_cast<index_t>(i));
  }
  EXPECT_TRUE(same_bits(target, expected.data(), elements * sizeof(T)))
      << row.name << ", " << to_string(op) << " of " << count << " " << to_string(dtype_of<T>);
}

TEST(NodeLaws, every_op_of_every_type_is_the_op_over_the_ranks_in_order) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    for (const DType dtype : all_dtypes) {
      with_type(dtype, [&](auto example) {
        using T = decltype(example);
        for (const ReduceOp op : all_ops) {
          if (op == ReduceOp::avg || !has_op(dtype, op)) continue;
          for (const AllreduceRow& row : board_rows()) {
            for (const index_t count : {0, 1, 13, 31, 1021}) {
              const index_t bytes = count * size_of(dtype);
              if (!row.applies({comm.size(), bytes, dtype, op})) continue;
              expect_law<T>(*board, row, comm, op, count, count % 2 == 0);
              expect_law<T>(*board, row, comm, op, count, count % 2 != 0);
            }
          }
        }
      });
    }
  });
}

/// Several steps, and a last one that is not divisible by the ranks.
TEST(NodeLaws, data_of_several_steps_is_complete) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    constexpr auto slab = NodeArea::slab_bytes / static_cast<index_t>(sizeof(float));
    for (const AllreduceRow& row : board_rows()) {
      for (const index_t count : {slab + 1, 2 * slab, 5 * slab + 1013}) {
        const index_t bytes = count * static_cast<index_t>(sizeof(float));
        if (!row.applies({comm.size(), bytes, DType::f32, ReduceOp::sum})) continue;
        expect_law<float>(*board, row, comm, ReduceOp::sum, count, false);
        expect_law<float>(*board, row, comm, ReduceOp::sum, count, true);
      }
    }
  });
}

/// Ranks are late by different times in each call, and write the input as soon as a call returns,
/// while others may still be in it.
TEST(NodeLaws, delays_and_later_writes_to_the_input_change_nothing) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    const auto rows = board_rows();
    constexpr index_t slab = NodeArea::slab_bytes / static_cast<index_t>(sizeof(std::int64_t));
    std::vector<std::int64_t> in(static_cast<std::size_t>(2 * slab + 77));
    std::vector<std::int64_t> out(in.size());
    const std::int64_t ranks_sum = std::int64_t{comm.size()} * (comm.size() - 1) / 2;
    for (int call = 0; call < 120; ++call) {
      const AllreduceRow& row = rows[mixed(5, call) % rows.size()];
      const bool many = call % 8 == 0;
      const auto most = static_cast<std::uint64_t>(many ? in.size() : 60);
      const auto count = static_cast<index_t>(1 + mixed(6, call) % most);
      const index_t bytes = count * static_cast<index_t>(sizeof(std::int64_t));
      if (!row.applies({comm.size(), bytes, DType::i64, ReduceOp::sum})) continue;
      std::fill_n(in.begin(), count, call + comm.rank());
      const std::uint64_t delay = mixed(comm.rank() + 7, call);
      if (delay % 3 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(delay / 3 % 300));
      }
      board->allreduce(row.algorithm, ConstBufferRef(in.data(), count),
                       BufferRef(out.data(), count), ReduceOp::sum);
      std::fill_n(in.begin(), count, -1);
      const std::int64_t expected = std::int64_t{call} * comm.size() + ranks_sum;
      ASSERT_TRUE(std::all_of(out.begin(), out.begin() + count,
                              [&](std::int64_t value) { return value == expected; }))
          << row.name << ", call " << call;
    }
  });
}

/// WEFT_TEST_CALLS=1000000 makes a million of them.
TEST(NodeLaws, many_calls_in_a_row_are_right) {
  const char* text = std::getenv("WEFT_TEST_CALLS");
  const int calls = text != nullptr ? std::atoi(text) : 10000;
  ASSERT_GT(calls, 0) << "WEFT_TEST_CALLS=" << text;
  on_ranks([&](Comm comm) {
    const auto board = make_board(comm);
    for (int call = 0; call < calls; ++call) {
      std::int64_t sum = call;
      board->allreduce_inline(ConstBufferRef(&sum, 1), BufferRef(&sum, 1), ReduceOp::sum);
      ASSERT_EQ(sum, std::int64_t{call} * comm.size());
    }
  });
}

TEST(NodeLaws, generations_may_exceed_32_bits) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    board->skip_to_generation((std::uint64_t{1} << 32) - 4);
    for (int call = 0; call < 10; ++call) {
      for (const AllreduceRow& row : board_rows()) {
        std::vector<std::int32_t> data(50, call);
        board->allreduce(row.algorithm, data, data, ReduceOp::sum);
        ASSERT_EQ(data, std::vector<std::int32_t>(50, call * comm.size())) << row.name;
      }
    }
  });
}

TEST(NodeLaws, several_boards_do_not_disturb_each_other) {
  on_ranks([](Comm comm) {
    const Comm half = comm.split(comm.rank() % 2);
    const auto all_ranks = make_board(comm);
    const auto some_ranks = make_board(half);
    const auto again = make_board(comm);
    for (int call = 0; call < 200; ++call) {
      std::int32_t one = call;
      std::vector<std::int32_t> many(5000, 1);
      std::int32_t two = 2;
      all_ranks->allreduce_inline(ConstBufferRef(&one, 1), BufferRef(&one, 1), ReduceOp::sum);
      some_ranks->allreduce_two_shot(many, many, ReduceOp::sum);
      again->allreduce_one_shot(ConstBufferRef(&two, 1), BufferRef(&two, 1), ReduceOp::sum);
      ASSERT_EQ(one, call * comm.size());
      ASSERT_EQ(many.back(), half.size());
      ASSERT_EQ(two, 2 * comm.size());
    }
  });
}

TEST(NodeLaws, more_than_two_billion_elements_are_reduced) {
  constexpr index_t count = (index_t{1} << 31) + 5;
  constexpr int most_ranks = 2;
  const index_t needed = 2 * most_ranks * count;  // leaves as much for others
  const index_t available = static_cast<index_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (ranks() != most_ranks || std::getenv("WEFT_TEST_LARGE") == nullptr || available < needed) {
    GTEST_SKIP() << "needs WEFT_TEST_LARGE=1, 2 ranks and " << (needed >> 30) << " GiB; there are "
                 << ranks() << " ranks and " << (available >> 30) << " GiB";
  }
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    std::vector<std::uint8_t> data(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < data.size(); i += 4093) {
      data[i] = static_cast<std::uint8_t>(i % 100 + static_cast<std::size_t>(comm.rank()));
    }
    data.back() = static_cast<std::uint8_t>(comm.rank() + 1);
    board->allreduce_one_shot(data, data, ReduceOp::sum);
    EXPECT_EQ(data.back(), 3);
    for (std::size_t i = 0; i + 1 < data.size(); i += 4093) ASSERT_EQ(data[i], i % 100 * 2 + 1);
  });
}

}  // namespace
}  // namespace weft::test
