#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Where in a page the large blocks begin that one thread, and so one rank, has in use. Blocks that
/// all begin at the same place look alike to processors that tell loads from stores by the last 12
/// bits of an address first: a load then waits for a store to another array. They also share few
/// sets of a cache. Here up to `count` blocks in use at a time begin at least `step` bytes apart,
/// whatever was allocated and released before them.
class PageOffsets {
 public:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t step = 512;  // measured by derivative_bench: less is too near
  static constexpr std::size_t count = page / step;

  static std::size_t of(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % page; }

  /// An offset that no more blocks have than any other: `preferred`, if it is one of those.
  std::size_t take(std::size_t preferred) {
    const int least = *std::min_element(in_use_.begin(), in_use_.end());
    std::size_t chosen = preferred / step;
    if (in_use_[chosen] > least) {
      while (in_use_[next_] > least) advance();
      chosen = next_;
      advance();
    }
    ++in_use_[chosen];
    return chosen * step;
  }
  /// A thread may release what another has taken: what it has then is less than nothing, which only
  /// makes the offset one to choose next.
  void give_back(std::size_t offset) { --in_use_[offset / step]; }

 private:
  /// Arrays made one after the other, often input and output, lie far apart in both directions.
  void advance() { next_ = (next_ + 3) % count; }

  std::array<int, count> in_use_{};
  std::size_t next_ = 0;
};

}  // namespace weft::detail
