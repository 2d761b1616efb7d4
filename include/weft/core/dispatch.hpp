#pragma once

#include <weft/core/cpu_level.hpp>
#include <weft/core/device.hpp>
#include <weft/core/error.hpp>

#include <cstddef>
#include <optional>
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

// The library's own callers get the tag of a level. What they call must not be mixed up by a linker
// with what users' callers call.
#if defined(WEFT_CPU_LEVELS)
inline namespace with_levels {
#endif

/// Turns the run-time device into the tag that kernels are overloaded on, and calls f with it: the
/// only switch over devices.
template <class F>
decltype(auto) dispatch(Device device, F&& f) {
  std::optional<detail::DebugAccess> open;
  switch (device.kind) {
    case DeviceKind::cpu: break;
    case DeviceKind::debug: open.emplace(); break;
    case DeviceKind::cuda:
#if defined(WEFT_WITH_CUDA)
      return std::forward<F>(f)(detail::cuda_tag(device));
#else
      require_available(device);
      break;
#endif
  }
#if defined(WEFT_CPU_LEVELS)
  switch (cpu_level()) {
#if WEFT_CPU_LEVELS >= 4
    case CpuLevel::v4: return std::forward<F>(f)(CpuV4{});
#endif
    case CpuLevel::v3: return std::forward<F>(f)(CpuV3{});
    default: return std::forward<F>(f)(CpuV2{});
  }
#else
  return std::forward<F>(f)(Cpu{});
#endif
}

#if defined(WEFT_CPU_LEVELS)
}  // namespace with_levels
#endif

}  // namespace weft
