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
      throw DeviceError("this build of Weft has no CUDA: no kernel can run on " +
                        to_string(device));
  }
  return std::forward<F>(f)(Cpu{});
}

}  // namespace weft
