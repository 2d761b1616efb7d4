#pragma once

#include <weft/core/stream.hpp>

#include <cstddef>
#include <utility>

namespace weft::detail {

/// Pinned host memory from a pool. In a build without CUDA it is plain memory.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t bytes);
  PinnedBuffer(PinnedBuffer&& other) noexcept { *this = std::move(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer();

  std::byte* data() { return data_; }
  /// Copies from a device and waits.
  void fetch(const void* from, Device device, std::size_t bytes);
  /// Copies to a device and releases the memory. Does not wait.
  void deliver(void* to, Device device, std::size_t bytes);

 private:
  /// Releases the memory; it is not reused before the stream is done with it.
  void release_after(const Stream& stream);

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Event in_use_;
};

}  // namespace weft::detail
