#pragma once

#include <weft/core/device.hpp>
#include <weft/core/error.hpp>

#include <utility>

namespace weft {

namespace detail {

/// While one of these lives, the memory of the debug device is open to this process.
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

/// Room for a few numbers on a device, where a kernel leaves a result for the host to fetch. The
/// same for each call on a thread.
void* scalar_scratch(Device device, std::size_t bytes);

}  // namespace detail

/// Turns the run-time device into the tag that kernels are overloaded on, and calls f with it: the
/// only switch over devices.
template <class F>
decltype(auto) dispatch(Device device, F&& f) {
  switch (device.kind) {
    case DeviceKind::cpu: break;
    case DeviceKind::debug: {
      const detail::DebugAccess open;
      return std::forward<F>(f)(Cpu{});
    }
    case DeviceKind::cuda:
#if defined(WEFT_WITH_CUDA)
      return std::forward<F>(f)(detail::cuda_tag(device));
#else
      require_available(device);
      break;
#endif
  }
  return std::forward<F>(f)(Cpu{});
}

}  // namespace weft
