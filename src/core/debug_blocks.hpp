#pragma once

#include <weft/core/shape.hpp>

#include <array>
#include <atomic>
#include <cstddef>

namespace weft::detail {

/// A block of the debug device's memory, described in the message of a fault in it.
struct DebugBlock {
  static constexpr int max_frames = 12;

  std::byte* begin = nullptr;
  std::size_t size = 0;
  // Its current or last allocation:
  index_t count = 0;
  std::size_t element_size = 0;
  index_t number = 0;  // of all allocations
  int rank = -1;
  bool in_use = false;
  int frames = 0;
  std::array<void*, max_frames> stack = {};
  std::array<char, 120> label = {};
};

/// All blocks, ordered by address. They are added under a lock; a signal handler reads them without
/// one.
class DebugBlocks {
 public:
  DebugBlocks();

  void add(std::byte* begin, std::size_t size) noexcept;
  /// The block that contains this address, or null.
  DebugBlock* find(const void* address) const noexcept;

 private:
  DebugBlock* blocks_ = nullptr;
  std::atomic<std::size_t> count_ = 0;
};

/// From now on a fault in [begin, begin + bytes) prints which block was accessed and from where,
/// and terminates the program. Other faults are passed to the previous handler.
void explain_faults(const std::byte* begin, std::size_t bytes, const DebugBlocks& blocks);

}  // namespace weft::detail
