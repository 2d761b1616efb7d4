#pragma once

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

/// IEEE half precision, for storage and communication only.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
  friend bool operator==(Half, Half) = default;
};

/// The upper half of a float, for storage and communication only.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// In bytes.
constexpr std::int64_t size_of(DType dtype) {
  constexpr std::int64_t sizes[] = {2, 2, 4, 8, 8, 16, 1, 2, 4, 8, 1, 2, 4, 8};
  return sizes[static_cast<int>(dtype)];
}
std::string_view name_of(DType dtype);

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
