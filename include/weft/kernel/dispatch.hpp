#pragma once

#include <weft/core/cpu_level.hpp>
#include <weft/core/device_access.hpp>

#include <optional>
#include <utility>

namespace weft {

// Callers in the library get the tag of a level. The inline namespace keeps the linker from merging
// them with instantiations in code of users.
#if defined(WEFT_CPU_LEVELS)
inline namespace with_levels {
#endif

/// Converts the run-time device into the tag that kernels are overloaded on, and calls f with it:
/// the only switch over devices.
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
      detail::refuse_cuda(device);
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
