#pragma once

// What the host needs in order to run kernels on a device; see kernel/dispatch.hpp.

#include <weft/core/device.hpp>

#include <cstddef>

namespace weft::detail {

/// While one of these lives, the memory of the debug device is accessible to this process.
class DebugAccess {
 public:
  DebugAccess();
  ~DebugAccess();
  DebugAccess(const DebugAccess&) = delete;
  DebugAccess& operator=(const DebugAccess&) = delete;
};

/// Makes a GPU the current one of this thread, and returns the tag with this thread's stream for
/// it.
Cuda cuda_tag(Device device);

/// Throws DeviceError: the GPU is not available, or the caller was compiled without GPU kernels.
[[noreturn]] void refuse_cuda(Device device);

/// Scratch memory for a few numbers on a device, where a kernel leaves a result for the host to
/// fetch. Every call on a thread returns the same memory.
void* scalar_scratch(Device device, std::size_t bytes);

}  // namespace weft::detail
