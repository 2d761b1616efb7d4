#include "bench/data.hpp"

#include "bench/memory.hpp"
#include "support/data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace {

using namespace weft;
using namespace weft::bench;
using test::all_dtypes;
using test::all_ops;

constexpr index_t some = 500;

/// The largest value up to which a type represents all integers.
std::int64_t exact_up_to(DType dtype) {
  switch (dtype) {
    case DType::f16: return 1 << 11;
    case DType::bf16: return 1 << 8;
    case DType::f32:
    case DType::c64: return 1 << 24;
    case DType::i8: return 127;
    case DType::u8: return 255;
    default: return 1 << 15;
  }
}

/// Calls check(dtype, op) for all reductions of numbers, not of bits.
template <class Check>
void for_each_arithmetic_op(Check check) {
  for (const DType dtype : all_dtypes) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
      if (has_op(dtype, op)) check(dtype, op);
    }
  }
}

test::Number to_test(Number number) { return {number.re, number.im}; }

TEST(BenchData, sums_and_products_are_exact_in_any_order) {
  std::mt19937 shuffler(1);
  for (const int ranks : {1, 2, 3, 7, 8, 48, 200}) {
    std::vector<int> order;
    for (int rank = 0; rank < ranks; ++rank) order.push_back(rank);
    std::shuffle(order.begin(), order.end(), shuffler);
    for_each_arithmetic_op([&](DType dtype, ReduceOp op) {
      const Data data(dtype, op, ranks);
      for (index_t i = 0; i < some; ++i) {
        test::Number total = to_test(data.number(order[0], i));
        for (std::size_t k = 1; k < order.size(); ++k) {
          total = test::combine(op, total, to_test(data.number(order[k], i)));
          ASSERT_LE(std::max(std::abs(total.re), std::abs(total.im)), exact_up_to(dtype))
              << to_string(dtype) << " " << to_string(op) << " of " << ranks << " ranks";
        }
        ASSERT_EQ(to_test(data.number(reduced, i)), total);
      }
    });
  }
}

TEST(BenchData, averages_are_integers_with_exact_sums) {
  for (const int ranks : {1, 2, 3, 5, 7, 8, 48, 200}) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::c128}) {
      const Data data(dtype, ReduceOp::avg, ranks);
      for (index_t i = 0; i < some; ++i) {
        Number total;
        std::int64_t farthest = 0;  // largest absolute value of a partial sum
        for (int rank = 0; rank < ranks; ++rank) {
          const Number each = data.number(rank, i);
          total = {total.re + each.re, total.im + each.im};
          farthest += std::max(std::abs(each.re), std::abs(each.im));
        }
        ASSERT_LE(farthest, 256);
        const Number average = data.number(reduced, i);
        ASSERT_EQ(total, (Number{average.re * ranks, average.im * ranks}));
      }
    }
  }
}

TEST(BenchData, differs_between_ranks_and_indices) {
  for (const DType dtype : all_dtypes) {
    const Data data(dtype, std::nullopt, 4);
    index_t same_place = 0;
    index_t same_rank = 0;
    for (index_t i = 0; i < some; ++i) {
      same_place += data.number(0, i) == data.number(1, i) ? 1 : 0;
      same_rank += data.number(0, i) == data.number(0, i + 1) ? 1 : 0;
    }
    EXPECT_LT(same_place, some / 20) << to_string(dtype);
    EXPECT_LT(same_rank, some / 20) << to_string(dtype);
  }
}

TEST(BenchData, has_the_bits_of_the_type) {
  for (const DType dtype : all_dtypes) {
    for (const ReduceOp op : all_ops) {
      if (!has_op(dtype, op)) continue;
      const Data data(dtype, op, 3);
      const std::vector<Piece> pieces = {{1, 7, 100}, {reduced, 3, 50}};
      const test::Numbers expected(dtype, 150, [&](index_t i) {
        return to_test(i < 100 ? data.number(1, 7 + i) : data.number(reduced, 3 + i - 100));
      });
      const std::vector<std::byte> made = data.make(pieces);
      ASSERT_EQ(static_cast<index_t>(made.size()), 150 * size_of(dtype));
      EXPECT_TRUE(test::same_bits(made.data(), expected.memory().data, made.size()))
          << to_string(dtype) << " " << to_string(op);
    }
  }
}

TEST(BenchData, of_long_pieces_equals_their_elements) {
  const Data data(DType::i32, ReduceOp::sum, 2);
  constexpr index_t first = 60000;
  constexpr index_t count = 300000;
  const std::vector<Piece> pieces = {{0, first, count}};
  const std::vector<std::byte> made = data.make(pieces);
  for (index_t i = 0; i < count; i += 997) {
    std::int32_t seen = 0;
    std::memcpy(&seen, made.data() + i * 4, 4);
    ASSERT_EQ(seen, data.number(0, first + i).re) << i;
  }
}

// The check

TEST(BenchCheck, counts_elements_and_not_bytes) {
  const std::vector<std::byte> a(40);
  std::vector<std::byte> b = a;
  EXPECT_EQ(count_different(a, b, 4), 0);
  b[4] = b[5] = b[39] = std::byte{1};
  EXPECT_EQ(count_different(a, b, 4), 2);
  EXPECT_EQ(count_different(a, b, 1), 3);
}

TEST(BenchCheck, detects_writes_beyond_both_ends) {
  Guarded memory(16, Device::cpu());
  memory.write(std::vector<std::byte>(16));
  EXPECT_EQ(memory.damage(4), 0);
  memory.data()[0] = memory.data()[15] = std::byte{7};
  EXPECT_EQ(memory.damage(4), 0);
  memory.data()[16] = std::byte{0};
  EXPECT_EQ(memory.damage(4), 1);
  memory.data()[-1] = std::byte{0};
  EXPECT_EQ(memory.damage(4), 2);
  memory.data()[-Guarded::guard_bytes] = std::byte{0};
  memory.data()[15 + Guarded::guard_bytes] = std::byte{0};
  EXPECT_EQ(memory.damage(4), 4);
}

TEST(BenchCheck, misaligned_memory_is_guarded) {
  Guarded aligned(16, Device::cpu());
  Guarded memory(16, Device::cpu(), 4);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 4U);
  EXPECT_EQ(memory.bytes(), 16);
  memory.write(std::vector<std::byte>(16, std::byte{5}));
  EXPECT_EQ(memory.read(), std::vector<std::byte>(16, std::byte{5}));
  EXPECT_EQ(memory.damage(4), 0);
  memory.data()[-1] = memory.data()[16] = std::byte{0};
  EXPECT_EQ(memory.damage(4), 2);
}

/// An allreduce of ten numbers on one rank of two.
struct Example {
  Example() {
    plan.in = {{0, 0, 10}};
    plan.out = {{reduced, 0, 10}};
  }
  /// The correct output.
  std::vector<std::byte> result() const { return data.make(plan.out); }

  Plan plan;
  Data data{DType::f32, ReduceOp::sum, 2};
};

void write(const BufferRef& memory, index_t first_byte, const std::vector<std::byte>& bytes) {
  copy_bytes(static_cast<std::byte*>(memory.data) + first_byte, memory.where, bytes.data(),
             Device::cpu(), bytes.size());
}

TEST(BenchCheck, accepts_only_the_correct_result) {
  const Example example;
  for (const Device device : {Device::cpu(), Device::debug()}) {
    for (const Form form : {Form::out_of_place, Form::in_place}) {
      CallMemory memory(example.plan, example.data, form, device);
      write(memory.out(), 0, example.result());
      EXPECT_EQ(memory.count_wrong(), 0);
      std::vector<std::byte> wrong = example.result();
      wrong[0] ^= std::byte{1};
      wrong[39] ^= std::byte{128};
      write(memory.out(), 0, wrong);
      EXPECT_EQ(memory.count_wrong(), 2);
    }
  }
}

TEST(BenchCheck, detects_an_unwritten_result) {
  const Example example;
  CallMemory memory(example.plan, example.data, Form::out_of_place, Device::cpu());
  EXPECT_EQ(memory.count_wrong(), 10);
  write(memory.out(), 0, example.result());
  memory.prepare();
  EXPECT_EQ(memory.count_wrong(), 10);
}

TEST(BenchCheck, detects_a_write_beyond_the_end_of_the_result) {
  const Example example;
  for (const Form form : {Form::out_of_place, Form::in_place}) {
    CallMemory memory(example.plan, example.data, form, Device::debug());
    write(memory.out(), 0, example.result());
    write(memory.out(), 40, std::vector<std::byte>(4));
    EXPECT_EQ(memory.count_wrong(), 1);
    write(memory.out(), -8, std::vector<std::byte>(8));
    EXPECT_EQ(memory.count_wrong(), 3);
  }
}

TEST(BenchCheck, detects_a_changed_input) {
  const Example example;
  CallMemory memory(example.plan, example.data, Form::out_of_place, Device::cpu());
  write(memory.out(), 0, example.result());
  std::vector<std::byte> other = example.data.make(example.plan.in);
  other[8] ^= std::byte{1};
  write(memory.in(), 0, other);
  EXPECT_EQ(memory.count_wrong(), 1);
}

}  // namespace
