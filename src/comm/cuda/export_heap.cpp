#include "comm/cuda/export_heap.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>

namespace weft::detail {
namespace {

/// The word by which a rank proves that it writes to a part.
std::uint64_t proof(int rank) { return 0x77656674ULL << 32 | static_cast<std::uint64_t>(rank + 1); }

/// Calls see(part, words) for the first words of each part.
template <class See>
cudaError_t read_words(std::span<std::byte* const> parts, cudaStream_t stream, See see) {
  cudaError_t error = cudaSuccess;
  std::vector<std::uint64_t> words(parts.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::fill(words.begin(), words.end(), 0);
    cudaError_t next = cudaMemcpyAsync(words.data(), parts[part], words.size() * sizeof(words[0]),
                                       cudaMemcpyDeviceToHost, stream);
    if (next == cudaSuccess) next = cudaStreamSynchronize(stream);
    if (next != cudaSuccess) error = next;
    see(part, words);
  }
  return error;
}

}  // namespace

ExportHeap& ExportHeap::instance() {
  static ExportHeap heap;
  return heap;
}

std::byte* ExportHeap::take(Device device, std::size_t bytes) {
  bytes = exported_bytes(bytes);
  const std::scoped_lock lock(mutex_);
  std::vector<std::byte*>& free = free_[{device.ordinal, bytes}];
  if (!free.empty()) {
    std::byte* const part = free.back();
    free.pop_back();
    return part;
  }
  void* part = nullptr;
  if (cudaMalloc(&part, bytes) == cudaSuccess) return static_cast<std::byte*>(part);
  cudaGetLastError();  // or a later call would report it
  return nullptr;
}

void ExportHeap::give_back(Device device, std::size_t bytes, std::byte* part) {
  const std::scoped_lock lock(mutex_);
  free_[{device.ordinal, exported_bytes(bytes)}].push_back(part);
}

cudaError_t ExportHeap::map(const cudaIpcMemHandle_t& handle, std::byte*& mapped) {
  const std::scoped_lock lock(mutex_);
  Mapping& mapping = mapped_[std::bit_cast<Key>(handle)];
  if (mapping.uses == 0) {
    void* address = nullptr;
    const cudaError_t error =
        cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess);
    if (error != cudaSuccess) return cudaGetLastError();
    mapping.address = static_cast<std::byte*>(address);
  }
  ++mapping.uses;
  mapped = mapping.address;
  return cudaSuccess;
}

void ExportHeap::unmap(const cudaIpcMemHandle_t& handle) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = mapped_.find(std::bit_cast<Key>(handle));
  if (found == mapped_.end() || --found->second.uses > 0) return;
  cudaIpcCloseMemHandle(found->second.address);
  cudaGetLastError();  // or a later call would report it
  mapped_.erase(found);
}

std::size_t exported_bytes(std::size_t bytes) {
  constexpr std::size_t block = 2 << 20;
  return (bytes + block - 1) / block * block;
}

std::size_t proof_bytes(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(std::uint64_t);
}

cudaError_t write_proofs(std::span<std::byte* const> parts, int rank, cudaStream_t stream) {
  const std::uint64_t word = proof(rank);
  cudaError_t error = cudaSuccess;
  for (std::byte* const part : parts) {
    // Pageable memory has been read when the call returns.
    const cudaError_t next = cudaMemcpyAsync(part + proof_bytes(rank), &word, sizeof(word),
                                             cudaMemcpyHostToDevice, stream);
    if (next != cudaSuccess) error = next;
  }
  return error;
}

cudaError_t read_proofs(std::span<std::byte* const> parts, cudaStream_t stream, bool& same) {
  return read_words(parts, stream, [&](std::size_t, const std::vector<std::uint64_t>& words) {
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
      same = same && words[rank] == proof(static_cast<int>(rank));
    }
  });
}

cudaError_t write_marks(std::byte* part, int rank, int ranks, cudaStream_t stream) {
  const std::vector<std::uint64_t> words(static_cast<std::size_t>(ranks), ~proof(rank));
  return cudaMemcpyAsync(part, words.data(), proof_bytes(ranks), cudaMemcpyHostToDevice, stream);
}

cudaError_t read_marks(std::span<std::byte* const> parts, cudaStream_t stream, bool& same) {
  return read_words(parts, stream, [&](std::size_t part, const std::vector<std::uint64_t>& words) {
    const std::uint64_t mark = ~proof(static_cast<int>(part));
    same = same && std::count(words.begin(), words.end(), mark) == std::ssize(words);
  });
}

}  // namespace weft::detail
