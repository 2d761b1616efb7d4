#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Offsets in a page of the large blocks that one thread, and so one rank, has in use. Blocks with
/// the same offset suffer from 4 KiB aliasing: processors that compare loads with earlier stores by
/// the last 12 bits of their addresses let a load wait for a store to another array. They also
/// compete for few cache sets. Here up to `count` blocks in use have offsets at least `step` bytes
/// apart, whatever was allocated and released before.
class PageOffsets {
 public:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t step = 512;  // set with derivative_bench: smaller steps still alias
  static constexpr std::size_t count = page / step;

  static std::size_t of(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % page; }

  /// One of the least used offsets: `preferred` if possible.
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
  /// A thread may release blocks of another: a negative count only makes the offset preferred.
  void release(std::size_t offset) { --in_use_[offset / step]; }

 private:
  /// Keeps consecutive arrays, often input and output, far apart in both directions.
  void advance() { next_ = (next_ + 3) % count; }

  std::array<int, count> in_use_{};
  std::size_t next_ = 0;
};

}  // namespace weft::detail
