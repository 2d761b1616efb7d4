#include <weft/core/dtype.hpp>

#include <array>

namespace weft {
namespace {

/// Rounds away the lowest `bits` bits, to nearest, ties to even.
std::uint32_t shift_rounding(std::uint32_t value, int bits) {
  const std::uint32_t half = 1U << (bits - 1);
  const std::uint32_t rest = value & ((1U << bits) - 1);
  const std::uint32_t kept = value >> bits;
  return rest > half || (rest == half && (kept & 1U) != 0) ? kept + 1 : kept;
}

}  // namespace

Half::Half(float value) {
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
  bits = static_cast<std::uint16_t>(sign | result);
}

Half::operator float() const {
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

BFloat16::BFloat16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const bool nan = (word & 0x7fffffffU) > 0x7f800000U;
  bits = static_cast<std::uint16_t>(nan ? (word >> 16) | 0x40U : shift_rounding(word, 16));
}

std::string_view name_of(DType dtype) {
  static constexpr std::array<std::string_view, 14> names = {"f16",  "bf16", "f32", "f64", "c64",
                                                             "c128", "i8",   "i16", "i32", "i64",
                                                             "u8",   "u16",  "u32", "u64"};
  return names.at(static_cast<std::size_t>(dtype));
}

}  // namespace weft
