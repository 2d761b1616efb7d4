#pragma once

// Access to devices for running kernels; see kernel/dispatch.hpp.

#include <weft/core/device.hpp>

#include <cstddef>

namespace weft::detail {

/// Makes the memory of the debug device accessible to this process for its lifetime.
class DebugAccess {
 public:
  DebugAccess();
  ~DebugAccess();
  DebugAccess(const DebugAccess&) = delete;
  DebugAccess& operator=(const DebugAccess&) = delete;
};

/// Makes a GPU current in this thread and returns the tag with this thread's stream.
Cuda cuda_tag(Device device);

/// Throws DeviceError: the GPU is not available, or the caller was compiled without GPU kernels.
[[noreturn]] void refuse_cuda(Device device);

inline constexpr std::size_t scalar_scratch_bytes = 256;
/// Scratch memory on a device for results that the host fetches, of at most scalar_scratch_bytes.
/// Every call on a thread returns the same memory.
void* scalar_scratch(Device device, std::size_t bytes);

}  // namespace weft::detail
