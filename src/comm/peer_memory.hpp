#pragma once

// GPU memory that ranks have mapped into each other's address spaces.

#include <weft/core/buffer.hpp>

#include "comm/transport.hpp"
#include "core/at.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace weft::detail {

/// Memory of which every rank of a team has a part, and in which all of them read and write.
/// Between threads these are plain pointers, between processes CUDA IPC.
class PeerMemory {
 public:
  /// Collective over `host`, whose ranks must be on one GPU or on GPUs that access each other. The
  /// memory is zero, and every rank has read from and written to every part. If a rank fails, all
  /// throw the same CommError.
  static std::unique_ptr<PeerMemory> make(Transport& host, Device device, std::size_t bytes);

  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// The part of a rank, where this rank has mapped it.
  std::byte* part(int rank) const { return parts_[at(rank)]; }
  /// Never uses this rank's part again, since others may still write to it.
  void leak() { leaked_ = true; }

 private:
  PeerMemory(Device device, std::size_t bytes) : device_(device), bytes_(bytes) {}

  Device device_;
  std::size_t bytes_;
  std::vector<std::byte*> parts_;
  /// This rank's part, from the pool or, for other processes, from memory that they have mapped.
  Buffer<std::byte> pooled_;
  std::byte* exported_ = nullptr;
  bool leaked_ = false;
};

}  // namespace weft::detail
