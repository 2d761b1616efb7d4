#pragma once

// Keys of magnitudes; see selection_kernels.hpp.

#include <bit>
#include <cstdint>
#include <type_traits>

namespace weft::detail {

template <class W>
using KeyOf = std::conditional_t<sizeof(W) == 4, std::uint32_t, std::uint64_t>;

template <class W>
constexpr KeyOf<W> magnitude_mask = static_cast<KeyOf<W>>(~KeyOf<W>{0}) >> 1;

/// The bits of |x|.
template <class W>
constexpr KeyOf<W> magnitude_key(W x) {
  return std::bit_cast<KeyOf<W>>(x) & magnitude_mask<W>;
}

template <class W>
constexpr W magnitude_of(std::uint64_t key) {
  return std::bit_cast<W>(static_cast<KeyOf<W>>(key));
}

/// The least key of magnitudes that are at least `threshold`, which is not negative.
template <class W>
constexpr KeyOf<W> key_reaching(double threshold) {
  const auto rounded = static_cast<W>(threshold);
  const KeyOf<W> key = magnitude_key(rounded);
  return static_cast<double>(rounded) < threshold ? key + 1 : key;
}

/// The same, but not that of 0: thresholds never take zeros.
template <class W>
constexpr KeyOf<W> key_above_zero(double threshold) {
  const KeyOf<W> key = key_reaching<W>(threshold > 0 ? threshold : 0);
  return key == 0 ? 1 : key;
}

/// Keys from this one on are of infinities and NaNs.
template <class W>
constexpr KeyOf<W> first_bad_key = sizeof(W) == 4
                                       ? static_cast<KeyOf<W>>(0x7f800000U)
                                       : static_cast<KeyOf<W>>(std::uint64_t{0x7ff} << 52);

/// Bits of a key without the sign.
template <class W>
constexpr int key_bits = 8 * static_cast<int>(sizeof(W)) - 1;

}  // namespace weft::detail
