#pragma once

// Data for tests of communication: small integers. All element types represent them, and their sums
// and products over up to seven ranks, exactly. So results do not depend on the order of
// operations, and the expected ones are computed with 64-bit integers.

#include <weft/comm/comm.hpp>

#include "core/hash.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace weft::test {

inline constexpr std::array<DType, 14> all_dtypes = {
    DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128, DType::i8,
    DType::i16, DType::i32,  DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64};

inline constexpr std::array<ReduceOp, 8> all_ops = {
    ReduceOp::sum,     ReduceOp::prod,   ReduceOp::min,     ReduceOp::max,
    ReduceOp::bit_and, ReduceOp::bit_or, ReduceOp::bit_xor, ReduceOp::avg};

inline bool is_unsigned(DType dtype) { return dtype >= DType::u8; }

/// The value of an element. Only complex types have an imaginary part.
struct Number {
  std::int64_t re = 0;
  std::int64_t im = 0;
  friend bool operator==(const Number&, const Number&) = default;
};

inline std::uint64_t mixed(int rank, index_t i) {
  return detail::mix_bits(static_cast<std::uint64_t>(i) * 1000003U +
                          static_cast<std::uint64_t>(rank) + 1);
}

/// Within -18 ... 18 (unsigned: 0 ... 36): seven of them add up to no more than 127 (255).
inline Number value(DType dtype, int rank, index_t i) {
  const std::uint64_t random = mixed(rank, i);
  const std::int64_t shift = is_unsigned(dtype) ? 0 : 18;
  return {static_cast<std::int64_t>(random % 37) - shift,
          is_complex_type(dtype) ? static_cast<std::int64_t>((random >> 32) % 37) - shift : 0};
}

/// 1 or 2, where at most three of seven ranks have a 2; with a sign if the type has one. Complex
/// numbers are 1 or -1 plus i or -i.
inline Number factor(DType dtype, int rank, index_t i) {
  const std::uint64_t random = mixed(rank, i);
  const auto sign = [&](int bit) { return (random >> bit & 1U) != 0 ? -1 : 1; };
  if (is_complex_type(dtype)) return {sign(0), sign(1)};
  const std::int64_t size = (rank + i) % 3 == 0 ? 2 : 1;
  return {is_unsigned(dtype) ? size : sign(0) * size, 0};
}

/// Random bits of the type.
inline Number pattern(DType, int rank, index_t i) {
  return {static_cast<std::int64_t>(mixed(rank, i)), 0};
}

inline Number input(ReduceOp op, DType dtype, int rank, index_t i) {
  switch (op) {
    case ReduceOp::prod: return factor(dtype, rank, i);
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor: return pattern(dtype, rank, i);
    default: return value(dtype, rank, i);
  }
}

/// Combines two numbers; avg is treated as sum.
inline Number combine(ReduceOp op, Number a, Number b) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg: return {a.re + b.re, a.im + b.im};
    case ReduceOp::prod: return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    case ReduceOp::min: return {std::min(a.re, b.re), 0};
    case ReduceOp::max: return {std::max(a.re, b.re), 0};
    case ReduceOp::bit_and: return {a.re & b.re, 0};
    case ReduceOp::bit_or: return {a.re | b.re, 0};
    case ReduceOp::bit_xor: return {a.re ^ b.re, 0};
  }
  return {};
}

namespace detail {
template <class T>
struct IsComplex : std::false_type {};
template <class R>
struct IsComplex<std::complex<R>> : std::true_type {};
}  // namespace detail

template <class T>
T element(Number number) {
  if constexpr (detail::IsComplex<T>::value) {
    using R = typename T::value_type;
    return {static_cast<R>(number.re), static_cast<R>(number.im)};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(number.re);
  } else {
    return T(static_cast<float>(number.re));
  }
}

template <class T>
Number number_of(T element) {
  if constexpr (detail::IsComplex<T>::value) {
    return {static_cast<std::int64_t>(element.real()), static_cast<std::int64_t>(element.imag())};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return {static_cast<std::int64_t>(element), 0};
  } else {
    return {static_cast<std::int64_t>(static_cast<float>(element)), 0};
  }
}

/// Compares bits. Both may be null without bytes.
inline bool same_bits(const void* a, const void* b, std::size_t bytes) {
  return bytes == 0 || std::memcmp(a, b, bytes) == 0;
}

/// An array with an element type chosen at run time. Messages use its memory on message_device();
/// elements are set and read in a copy on the host.
class Numbers {
 public:
  /// All elements have a value that marks them as unwritten.
  Numbers(DType dtype, index_t count)
      : dtype_(dtype), count_(count), bytes_(static_cast<std::size_t>(count * size_of(dtype))) {
    for (index_t i = 0; i < count; ++i) set(i, untouched);
  }
  Numbers(const Numbers& other)
      : dtype_(other.dtype_), count_(other.count_), bytes_(other.host()) {}
  Numbers& operator=(const Numbers&) = delete;
  Numbers(DType dtype, index_t count, const std::function<Number(index_t)>& at)
      : Numbers(dtype, count) {
    for (index_t i = 0; i < count; ++i) set(i, at(i));
  }

  void set(index_t i, Number number) {
    with_type(dtype_, [&](auto example) {
      const auto made = element<decltype(example)>(number);
      std::memcpy(host().data() + i * size_of(dtype_), &made, sizeof(made));
    });
    set_here_ = true;
  }
  Number operator[](index_t i) const {
    return with_type(dtype_, [&](auto example) {
      std::memcpy(&example, host().data() + i * size_of(dtype_), sizeof(example));
      return number_of(example);
    });
  }

  index_t count() const { return count_; }
  DType dtype() const { return dtype_; }
  BufferRef memory() { return {address(), count_, dtype_, message_device()}; }
  ConstBufferRef memory() const { return {address(), count_, dtype_, message_device()}; }
  BufferRef part(index_t first, index_t elements) { return memory().part(first, elements); }

  /// All bits are equal; for complex numbers, the sign of a zero may differ.
  friend testing::AssertionResult same(const Numbers& seen, const Numbers& expected) {
    if (seen.dtype_ != expected.dtype_ || seen.count_ != expected.count_) {
      return testing::AssertionFailure() << "different type or size";
    }
    for (index_t i = 0; i < seen.count_; ++i) {
      const auto size = size_of(seen.dtype_);
      if (same_bits(seen.host().data() + i * size, expected.host().data() + i * size,
                    static_cast<std::size_t>(size))) {
        continue;
      }
      if (is_complex_type(seen.dtype_) && seen[i] == expected[i]) continue;
      return testing::AssertionFailure()
             << "element " << i << " of " << seen.count_ << " " << to_string(seen.dtype_) << " is ("
             << seen[i].re << ", " << seen[i].im << ") and not (" << expected[i].re << ", "
             << expected[i].im << ")";
    }
    return testing::AssertionSuccess();
  }

 private:
  static constexpr Number untouched = {99, 0};

  /// The memory that messages use.
  std::byte* address() const {
    if (message_device().host_accessible()) return bytes_.data();
    if (device_.size() == 0) device_ = Buffer<std::byte>(bytes(), message_device());
    if (set_here_) copy_bytes(device_.data(), device_.device(), bytes_.data(), {}, bytes_.size());
    set_here_ = false;
    changed_there_ = true;
    return device_.data();
  }
  std::vector<std::byte>& host() const {
    if (changed_there_)
      copy_bytes(bytes_.data(), {}, device_.data(), device_.device(), bytes_.size());
    changed_there_ = false;
    return bytes_;
  }
  index_t bytes() const { return static_cast<index_t>(bytes_.size()); }

  DType dtype_;
  index_t count_;
  mutable std::vector<std::byte> bytes_;
  mutable Buffer<std::byte> device_;
  mutable bool set_here_ = true;
  mutable bool changed_there_ = false;  // possibly
};

/// The input of rank `rank` in a reduction.
inline Numbers inputs(ReduceOp op, DType dtype, int rank, index_t count) {
  return Numbers(dtype, count, [&](index_t i) { return input(op, dtype, rank, i); });
}

/// The result of the reduction. Not for avg.
inline Numbers reduced(ReduceOp op, DType dtype, int ranks, index_t count) {
  return Numbers(dtype, count, [&](index_t i) {
    Number total = input(op, dtype, 0, i);
    for (int rank = 1; rank < ranks; ++rank) {
      total = combine(op, total, input(op, dtype, rank, i));
    }
    return total;
  });
}

/// The data that rank `rank` sends in a collective without reduction.
inline Numbers values(DType dtype, int rank, index_t count) {
  return inputs(ReduceOp::sum, dtype, rank, count);
}

}  // namespace weft::test
