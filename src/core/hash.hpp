#pragma once

// Bit mixing for hashes, checksums and random numbers. The values are the same in every process;
// random arrays and checkpoints depend on them.

#include <bit>
#include <cstdint>
#include <string_view>

namespace weft::detail {

/// 2^64 divided by the golden ratio: multiples of it are spread evenly over 64 bits.
inline constexpr std::uint64_t golden_ratio_bits = 0x9e3779b97f4a7c15U;

/// The finalizer of splitmix64: each bit of the input changes about half of the bits of the result.
constexpr std::uint64_t mix_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

/// The mixer of checksums in checkpoint files, which must not change.
constexpr std::uint64_t mix_checksum_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93U;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93U;
  return bits ^ (bits >> 32);
}

/// An order-dependent hash of numbers and texts.
class Hash {
 public:
  constexpr Hash& add(std::uint64_t number) {
    value_ = std::rotl(value_, 7) ^ mix_bits(value_ + number + golden_ratio_bits);
    return *this;
  }
  constexpr Hash& add(std::int64_t number) { return add(static_cast<std::uint64_t>(number)); }
  constexpr Hash& add(int number) { return add(static_cast<std::int64_t>(number)); }
  constexpr Hash& add(std::string_view text) {
    for (const char letter : text) add(static_cast<std::int64_t>(letter));
    return add(static_cast<std::uint64_t>(text.size()));
  }
  constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x2545f4914f6cdd1dU;
};

}  // namespace weft::detail
