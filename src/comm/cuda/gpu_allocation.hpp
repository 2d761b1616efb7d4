#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::detail {

/// What the driver knows about an allocation of GPU memory.
struct GpuAllocation {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  /// Not used again in this process when the memory is freed.
  std::uint64_t id = 0;
  /// cudaIpcGetMemHandle takes it: memory of cudaMalloc, but not of cudaMallocAsync, nor managed or
  /// virtual memory.
  bool exportable = false;
};

/// The allocation that contains an address; none for other memory than that of a GPU.
std::optional<GpuAllocation> gpu_allocation_of(const void* address);

/// GpuAllocation::id alone, which takes less time; 0 if there is none.
std::uint64_t gpu_allocation_id(const void* address);

}  // namespace weft::detail
