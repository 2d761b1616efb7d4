#include <weft/core/dtype.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The value of 16 bits of a format with these exponent and mantissa bits, by definition.
double meaning(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  }
  const int lead = exponent == 0 ? 0 : 1 << mantissa_bits;
  return sign * std::ldexp(lead + mantissa, std::max(exponent, 1) - bias - mantissa_bits);
}

struct HalfFormat {
  using Type = Half;
  static constexpr int exponent_bits = 5;
  static constexpr int mantissa_bits = 10;
};
struct BFloat16Format {
  using Type = BFloat16;
  static constexpr int exponent_bits = 8;
  static constexpr int mantissa_bits = 7;
};

template <class Format>
class DTypeSmallFloat : public testing::Test {
 protected:
  using Value = typename Format::Type;

  static Value from_bits(unsigned bits) {
    Value value;
    value.bits = static_cast<std::uint16_t>(bits);
    return value;
  }
  static double meaning_of(unsigned bits) {
    return meaning(static_cast<std::uint16_t>(bits), Format::exponent_bits, Format::mantissa_bits);
  }
  static constexpr unsigned infinity_bits = ((1U << Format::exponent_bits) - 1)
                                            << Format::mantissa_bits;

  /// The bits of the positive number nearest to `value`, found by bisection; ties to the even one.
  static unsigned nearest(double value) {
    unsigned low = 0;
    unsigned high = infinity_bits;
    while (high - low > 1) {
      const unsigned middle = (low + high) / 2;
      (meaning_of(middle) <= value ? low : high) = middle;
    }
    // Infinity stands for the number that would follow the largest one.
    const double above =
        high == infinity_bits ? 2 * meaning_of(low) - meaning_of(low - 1) : meaning_of(high);
    const double below = value - meaning_of(low);
    const double left = above - value;
    if (below == left) return low % 2 == 0 ? low : high;
    return below < left ? low : high;
  }
};

using Formats = testing::Types<HalfFormat, BFloat16Format>;
TYPED_TEST_SUITE(DTypeSmallFloat, Formats);

}  // namespace

TYPED_TEST(DTypeSmallFloat, means_what_its_bits_say) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const double expected = TestFixture::meaning_of(bits);
    const auto seen = static_cast<float>(TestFixture::from_bits(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(seen)) << bits;
    } else {
      EXPECT_EQ(static_cast<double>(seen), expected) << bits;
    }
    EXPECT_EQ(std::signbit(seen), bits >= 0x8000) << bits;
  }
}

TYPED_TEST(DTypeSmallFloat, survives_the_way_through_float) {
  using T = typename TypeParam::Type;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const T back(static_cast<float>(TestFixture::from_bits(bits)));
    if (std::isnan(TestFixture::meaning_of(bits))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      EXPECT_EQ(back.bits, bits);
      EXPECT_EQ(back, TestFixture::from_bits(bits));
    }
  }
}

TYPED_TEST(DTypeSmallFloat, rounds_to_the_nearest_and_ties_to_even) {
  using T = typename TypeParam::Type;
  // For any two neighbours: both, the middle, and the floats next to these.
  for (unsigned bits = 0; bits < TestFixture::infinity_bits; ++bits) {
    const double low = TestFixture::meaning_of(bits);
    const double high = bits + 1 < TestFixture::infinity_bits
                            ? TestFixture::meaning_of(bits + 1)
                            : 2 * low - TestFixture::meaning_of(bits - 1);
    const auto first = static_cast<float>(low);
    const auto middle = static_cast<float>(low / 2 + high / 2);
    const auto last = static_cast<float>(high);
    for (const float value :
         {first, std::nextafter(first, infinity), std::nextafter(middle, 0.0F), middle,
          std::nextafter(middle, infinity), std::nextafter(last, 0.0F)}) {
      if (std::isinf(value)) continue;
      const unsigned expected = TestFixture::nearest(static_cast<double>(value));
      EXPECT_EQ(T(value).bits, expected) << value;
      EXPECT_EQ(T(-value).bits, expected | 0x8000U) << -value;
    }
  }
}

TYPED_TEST(DTypeSmallFloat, rounds_any_float) {
  using T = typename TypeParam::Type;
  std::mt19937 random(7);
  for (int i = 0; i < 300'000; ++i) {
    const auto word = static_cast<std::uint32_t>(random());
    float value = 0;
    std::memcpy(&value, &word, sizeof(value));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(T(value))));
      continue;
    }
    const unsigned expected = std::isinf(value)
                                  ? TestFixture::infinity_bits
                                  : TestFixture::nearest(static_cast<double>(std::abs(value)));
    EXPECT_EQ(T(value).bits, expected | (std::signbit(value) ? 0x8000U : 0U)) << value;
  }
}

TEST(DTypeHalf, has_the_limits_of_ieee) {
  EXPECT_EQ(Half(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Half(std::nextafter(65520.0F, 0.0F)).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0F).bits, 0x7c00) << "a tie goes to infinity";
  EXPECT_EQ(Half(1e10F).bits, 0x7c00);
  EXPECT_EQ(Half(-infinity).bits, 0xfc00);
  EXPECT_EQ(Half(0x1p-24F).bits, 1) << "the smallest number";
  EXPECT_EQ(Half(0x1p-25F).bits, 0) << "half of it";
  EXPECT_EQ(Half(std::nextafter(0x1p-25F, 1.0F)).bits, 1);
  EXPECT_EQ(Half(-0.0F).bits, 0x8000);
  EXPECT_EQ(Half(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(Half().bits, 0);
  EXPECT_EQ(Half(1.0F).bits, 0x3c00);
}

TEST(DTypeBFloat16, has_the_range_of_float) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80) << "rounded up to infinity";
  EXPECT_EQ(BFloat16(3.3e38F).bits, 0x7f78);
  EXPECT_EQ(BFloat16(-infinity).bits, 0xff80);
  EXPECT_EQ(BFloat16(0x1p-133F).bits, 1) << "the smallest number";
  EXPECT_EQ(BFloat16(-0.0F).bits, 0x8000);
  // A NaN whose upper bits alone would be infinity.
  float hidden = 0;
  const std::uint32_t word = 0x7f800001U;
  std::memcpy(&hidden, &word, sizeof(hidden));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(hidden))));
}

TEST(DType, has_size_and_name) {
  struct Row {
    DType dtype;
    std::string name;
    int bytes;
    bool integer;
    bool complex;
  };
  const std::vector<Row> rows = {
      {DType::f16, "f16", 2, false, false}, {DType::bf16, "bf16", 2, false, false},
      {DType::f32, "f32", 4, false, false}, {DType::f64, "f64", 8, false, false},
      {DType::c64, "c64", 8, false, true},  {DType::c128, "c128", 16, false, true},
      {DType::i8, "i8", 1, true, false},    {DType::i16, "i16", 2, true, false},
      {DType::i32, "i32", 4, true, false},  {DType::i64, "i64", 8, true, false},
      {DType::u8, "u8", 1, true, false},    {DType::u16, "u16", 2, true, false},
      {DType::u32, "u32", 4, true, false},  {DType::u64, "u64", 8, true, false}};
  for (const Row& row : rows) {
    EXPECT_EQ(to_string(row.dtype), row.name);
    EXPECT_EQ(size_of(row.dtype), row.bytes) << row.name;
    EXPECT_EQ(is_integer(row.dtype), row.integer) << row.name;
    EXPECT_EQ(is_complex_type(row.dtype), row.complex) << row.name;
    const DType found = with_type(row.dtype, [](auto value) { return dtype_of<decltype(value)>; });
    EXPECT_EQ(found, row.dtype) << row.name;
  }
}

TEST(DType, maps_to_a_cpp_type) {
  static_assert(dtype_of<float> == DType::f32);
  static_assert(dtype_of<std::complex<double>> == DType::c128);
  static_assert(dtype_of<std::int64_t> == DType::i64);
  static_assert(dtype_of<std::uint8_t> == DType::u8);
  static_assert(dtype_of<Half> == DType::f16);
  static_assert(!Communicable<bool>);
  static_assert(!Communicable<char*>);
  static_assert(!Communicable<long double>);
  static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);
  EXPECT_EQ(with_type(DType::c64, [](auto value) { return static_cast<int>(sizeof(value)); }), 8);
}

}  // namespace weft
