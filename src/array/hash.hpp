#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace weft::detail {

/// An order-dependent hash of numbers, the same in every process.
class Hash {
 public:
  Hash& add(std::uint64_t number) {
    // Finalizer of splitmix64: every bit of the input changes about half of the bits of the output.
    std::uint64_t mixed = value_ + number + 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    value_ = std::rotl(value_, 7) ^ mixed ^ (mixed >> 31);
    return *this;
  }
  Hash& add(std::int64_t number) { return add(static_cast<std::uint64_t>(number)); }
  Hash& add(int number) { return add(static_cast<std::int64_t>(number)); }
  Hash& add(std::string_view text) {
    for (const char letter : text) add(static_cast<std::int64_t>(letter));
    return add(static_cast<std::uint64_t>(text.size()));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x2545f4914f6cdd1dU;
};

}  // namespace weft::detail
