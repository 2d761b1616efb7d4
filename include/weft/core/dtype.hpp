#pragma once

#include <weft/core/compiler.hpp>

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <string_view>

namespace weft {

/// The element types that can be communicated.
enum class DType : std::uint8_t {
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64
};

namespace detail {

/// Shifts right by `bits`, rounding to nearest, ties to even.
constexpr std::uint32_t shift_rounding(std::uint32_t value, int bits) {
  const std::uint32_t half = 1U << (bits - 1);
  const std::uint32_t rest = value & ((1U << bits) - 1);
  const std::uint32_t kept = value >> bits;
  return rest > half || (rest == half && (kept & 1U) != 0) ? kept + 1 : kept;
}

constexpr std::uint16_t half_bits(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000U;
  const std::uint32_t magnitude = word & 0x7fffffffU;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000U) {
    result = 0x7e00U;  // NaN
  } else if (magnitude >= 0x47800000U) {
    result = 0x7c00U;  // 65536 and above: infinity
  } else if (magnitude >= 0x38800000U) {
    // Normal numbers: rebias the exponent; rounding may carry into it, up to infinity.
    result = shift_rounding(magnitude - 0x38000000U, 13);
  } else if (magnitude >= 0x33000000U) {
    const int exponent = static_cast<int>(magnitude >> 23);
    result = shift_rounding((magnitude & 0x7fffffU) | 0x800000U, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | result);
}

constexpr float half_value(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1fU ? 0xffU : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

constexpr std::uint16_t bfloat16_bits(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const bool nan = (word & 0x7fffffffU) > 0x7f800000U;
  return static_cast<std::uint16_t>(nan ? (word >> 16) | 0x40U : shift_rounding(word, 16));
}

}  // namespace detail

/// IEEE half precision, for storage and communication only.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  constexpr explicit Half(float value) : bits(detail::half_bits(value)) {}
  constexpr explicit operator float() const { return detail::half_value(bits); }
  friend bool operator==(Half, Half) = default;
};

/// The upper half of a float, for storage and communication only.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(detail::bfloat16_bits(value)) {}
  constexpr explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// In bytes.
constexpr std::int64_t size_of(DType dtype) {
  // Powers of two, four bits each, from f16 to u64: compilers store an array on the stack first.
  constexpr std::uint64_t exponents = 0x32103210433211;
  return std::int64_t{1} << (exponents >> (4 * static_cast<unsigned>(dtype)) & 15U);
}
std::string_view to_string(DType dtype);

constexpr bool is_integer(DType dtype) { return dtype >= DType::i8; }
constexpr bool is_complex_type(DType dtype) { return dtype == DType::c64 || dtype == DType::c128; }

namespace detail {
template <class T>
struct DTypeOf;
#define WEFT_DTYPE_OF(T, name)                  \
  template <>                                   \
  struct DTypeOf<T> {                           \
    static constexpr DType value = DType::name; \
  };
WEFT_DTYPE_OF(Half, f16)
WEFT_DTYPE_OF(BFloat16, bf16)
WEFT_DTYPE_OF(float, f32)
WEFT_DTYPE_OF(double, f64)
WEFT_DTYPE_OF(std::complex<float>, c64)
WEFT_DTYPE_OF(std::complex<double>, c128)
WEFT_DTYPE_OF(std::int8_t, i8)
WEFT_DTYPE_OF(std::int16_t, i16)
WEFT_DTYPE_OF(std::int32_t, i32)
WEFT_DTYPE_OF(std::int64_t, i64)
WEFT_DTYPE_OF(std::uint8_t, u8)
WEFT_DTYPE_OF(std::uint16_t, u16)
WEFT_DTYPE_OF(std::uint32_t, u32)
WEFT_DTYPE_OF(std::uint64_t, u64)
#undef WEFT_DTYPE_OF
}  // namespace detail

template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::value;

/// A C++ type that has a DType.
template <class T>
concept Communicable = requires {
  { detail::DTypeOf<T>::value } -> std::convertible_to<DType>;
};

/// Calls `f` with a value-initialised object of the type that `dtype` names.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f16: return f(Half{});
    case DType::bf16: return f(BFloat16{});
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::c64: return f(std::complex<float>{});
    case DType::c128: return f(std::complex<double>{});
    case DType::i8: return f(std::int8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: break;
  }
  return f(std::uint64_t{});
}

}  // namespace weft
