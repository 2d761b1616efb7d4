#include "bench/data.hpp"

#include "core/hash.hpp"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>

namespace weft::bench {
namespace {

// The period of the elements, which allows large buffers to be filled by copying. It is prime, so
// that no transport splits messages at multiples of it.
constexpr index_t period = 65521;

// Sums fit into an i8, and so into every other type.
constexpr std::int64_t largest_sum = 127;
// Averages are formed from pairs of ranks.
constexpr std::int64_t largest_average_sum = 64;
// 2^6 fits into an i8, and so do the parts of (2+i)^6.
constexpr int most_factors = 6;

std::uint64_t mixed(int rank, index_t i) {
  return detail::mix_bits(static_cast<std::uint64_t>(i) * 1000003U +
                          static_cast<std::uint64_t>(rank) + 1);
}

bool is_unsigned(DType dtype) { return dtype >= DType::u8; }

/// From -most to most, or from 0 to most for unsigned types.
Number number_within(DType dtype, std::uint64_t random, std::int64_t most) {
  const auto within = [&](std::uint64_t bits) {
    const std::int64_t least = is_unsigned(dtype) ? 0 : -most;
    return least + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(most - least + 1));
  };
  return {within(random & 0xffffffffU), is_complex_type(dtype) ? within(random >> 32) : 0};
}

/// The largest value up to which all integers are exact, at most 32 bits.
std::int64_t largest_whole(DType dtype) {
  switch (dtype) {
    case DType::f16: return (1 << 11) - 1;
    case DType::bf16: return (1 << 8) - 1;
    case DType::f32:
    case DType::c64: return (1 << 24) - 1;
    default: return std::int64_t{1} << 31;
  }
}

std::int64_t random_bits(int rank, index_t i) { return static_cast<std::int64_t>(mixed(rank, i)); }

/// For data that are moved only.
Number anything(DType dtype, int rank, index_t i) {
  if (is_integer(dtype)) return {random_bits(rank, i), 0};
  return number_within(dtype, mixed(rank, i), largest_whole(dtype));
}

/// The summand of a rank. With more ranks than the largest sum, most add zero.
Number summand(DType dtype, int rank, int ranks, index_t i) {
  const std::int64_t stride = (ranks + largest_sum - 1) / largest_sum;
  if ((rank + i) % stride != 0) return {};
  return number_within(dtype, mixed(rank, i), std::max<std::int64_t>(1, largest_sum / ranks));
}

/// The average at `i`.
Number average(DType dtype, int ranks, index_t i) {
  return number_within(dtype, mixed(-1, i), largest_average_sum / ranks);
}

/// Pairs of ranks have values symmetric about the average, so that the sum is divisible.
Number around_average(DType dtype, int rank, int ranks, index_t i) {
  const Number middle = average(dtype, ranks, i);
  if (rank == ranks - 1 && ranks % 2 != 0) return middle;
  const std::int64_t most = std::max<std::int64_t>(1, largest_average_sum / ranks);
  const Number away = number_within(dtype, mixed(rank / 2, i), most);
  const int sign = rank % 2 == 0 ? 1 : -1;
  return {middle.re + sign * away.re, middle.im + sign * away.im};
}

/// 1 or 2, with a sign for signed types; complex numbers are 1 or 2+i, whose powers have no zero
/// part: the sign of a zero would depend on the order of the factors.
Number factor(DType dtype, int rank, int ranks, index_t i) {
  const int stride = std::max(3, (ranks + most_factors - 1) / most_factors);
  const bool is_large = (rank + i) % stride == 0;
  if (is_complex_type(dtype)) return is_large ? Number{2, 1} : Number{1, 0};
  const bool negative = !is_unsigned(dtype) && (mixed(rank, i) & 1U) != 0;
  const std::int64_t size = is_large ? 2 : 1;
  return {negative ? -size : size, 0};
}

Number combine(ReduceOp op, Number a, Number b) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg: return {a.re + b.re, a.im + b.im};
    case ReduceOp::prod: return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    case ReduceOp::min: return {std::min(a.re, b.re), 0};
    case ReduceOp::max: return {std::max(a.re, b.re), 0};
    case ReduceOp::bit_and: return {a.re & b.re, 0};
    case ReduceOp::bit_or: return {a.re | b.re, 0};
    case ReduceOp::bit_xor: break;
  }
  return {a.re ^ b.re, 0};
}

/// A small integer as a 16-bit float with `fraction` bits after the leading one.
std::uint16_t small_float_bits(std::int64_t value, int fraction, int bias) {
  if (value == 0) return 0;
  const auto size = static_cast<std::uint64_t>(value < 0 ? -value : value);
  const int exponent = static_cast<int>(std::bit_width(size)) - 1;
  const std::uint64_t mantissa = (size << fraction >> exponent) & ((1U << fraction) - 1);
  const std::uint64_t sign = value < 0 ? 0x8000U : 0U;
  return static_cast<std::uint16_t>(sign | static_cast<std::uint64_t>(exponent + bias) << fraction |
                                    mantissa);
}

template <class T>
struct Make {
  T operator()(Number number) const { return static_cast<T>(number.re); }
};
template <class R>
struct Make<std::complex<R>> {
  std::complex<R> operator()(Number number) const {
    return {static_cast<R>(number.re), static_cast<R>(number.im)};
  }
};
template <>
struct Make<Half> {
  Half operator()(Number number) const {
    return std::bit_cast<Half>(small_float_bits(number.re, 10, 15));
  }
};
template <>
struct Make<BFloat16> {
  BFloat16 operator()(Number number) const {
    return std::bit_cast<BFloat16>(small_float_bits(number.re, 7, 127));
  }
};

}  // namespace

index_t count_of(std::span<const Piece> pieces) {
  index_t count = 0;
  for (const Piece& piece : pieces) count += piece.count;
  return count;
}

Number Data::input(int rank, index_t i) const {
  if (!op_) return anything(dtype_, rank, i);
  switch (*op_) {
    case ReduceOp::sum: return summand(dtype_, rank, ranks_, i);
    case ReduceOp::avg: return around_average(dtype_, rank, ranks_, i);
    case ReduceOp::prod: return factor(dtype_, rank, ranks_, i);
    case ReduceOp::min:
    case ReduceOp::max: return number_within(dtype_, mixed(rank, i), largest_sum);
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor: break;
  }
  return {random_bits(rank, i), 0};
}

Number Data::number(int source, index_t i) const {
  i %= period;
  if (source != reduced) return input(source, i);
  const ReduceOp op = *op_;
  Number result = input(0, i);
  for (int rank = 1; rank < ranks_; ++rank) result = combine(op, result, input(rank, i));
  return op == ReduceOp::avg ? Number{result.re / ranks_, result.im / ranks_} : result;
}

void Data::fill(std::span<std::byte> bytes, const Piece& piece) const {
  with_type(dtype_, [&](auto example) {
    using T = decltype(example);
    const Make<T> make;
    const index_t fresh = std::min(piece.count, period);
    for (index_t k = 0; k < fresh; ++k) {
      const T element = make(number(piece.source, piece.first + k));
      std::memcpy(bytes.data() + k * size_of(dtype_), &element, sizeof(T));
    }
  });
  auto done = static_cast<std::size_t>(std::min(piece.count, period) * size_of(dtype_));
  while (done < bytes.size()) {  // the filled part is a whole number of periods
    const std::size_t more = std::min(done, bytes.size() - done);
    std::memcpy(bytes.data() + done, bytes.data(), more);
    done += more;
  }
}

std::vector<std::byte> Data::make(std::span<const Piece> pieces) const {
  std::vector<std::byte> all(static_cast<std::size_t>(count_of(pieces) * size_of(dtype_)));
  std::size_t at = 0;
  for (const Piece& piece : pieces) {
    const auto bytes = static_cast<std::size_t>(piece.count * size_of(dtype_));
    fill(std::span(all).subspan(at, bytes), piece);
    at += bytes;
  }
  return all;
}

index_t count_different(std::span<const std::byte> a, std::span<const std::byte> b,
                        index_t element_bytes) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
  const auto step = static_cast<std::size_t>(element_bytes);
  index_t different = 0;
  for (std::size_t at = 0; at < a.size(); at += step) {
    if (std::memcmp(a.data() + at, b.data() + at, step) != 0) ++different;
  }
  return different;
}

}  // namespace weft::bench
