#pragma once

// GPU memory that processes map into each other's address spaces by CUDA IPC.

#include <weft/core/device.hpp>

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace weft::detail {

/// Memory for other processes to map, and their memory that this process has mapped.
class ExportHeap {
 public:
  static ExportHeap& instance();

  /// Null without enough memory. Never freed, but used again: communicators end at different times
  /// on different ranks, so nobody knows when the last peer has closed its mapping.
  std::byte* take(Device device, std::size_t bytes);
  void give_back(Device device, std::size_t bytes, std::byte* part);

  /// Memory that is mapped several times has one address, until it is unmapped as many times.
  cudaError_t map(const cudaIpcMemHandle_t& handle, std::byte*& mapped);
  void unmap(const cudaIpcMemHandle_t& handle) noexcept;

 private:
  using Key = std::array<std::byte, sizeof(cudaIpcMemHandle_t)>;
  struct Mapping {
    std::byte* address = nullptr;
    int uses = 0;
  };

  std::mutex mutex_;
  std::map<std::pair<int, std::size_t>, std::vector<std::byte*>> free_;  // by device and bytes
  std::map<Key, Mapping> mapped_;
};

/// Whole blocks of the driver: a handle names a block, not the part of it that was asked for.
std::size_t exported_bytes(std::size_t bytes);

// Ranks prove that they have access to parts: each writes a word of its own to every part, at its
// index, and after all have done so reads the words of all. Both return a CUDA error.

/// The bytes of a part that proofs overwrite.
std::size_t proof_bytes(int ranks);
cudaError_t write_proofs(std::span<std::byte* const> parts, int rank, cudaStream_t stream);
/// Waits for the stream; clears `same` if a word is missing.
cudaError_t read_proofs(std::span<std::byte* const> parts, cudaStream_t stream, bool& same);

// Before that, where a write to a wrong address would do harm: each rank marks its own part, and
// reads the marks of all.
cudaError_t write_marks(std::byte* part, int rank, int ranks, cudaStream_t stream);
cudaError_t read_marks(std::span<std::byte* const> parts, cudaStream_t stream, bool& same);

}  // namespace weft::detail
