#include <weft/core/dispatch.hpp>
#include <weft/core/stream.hpp>

#include "core/cuda_device.hpp"

namespace weft {

Stream Stream::current(Device device) {
  require_available(device);
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) return {device, detail::cuda_stream(device)};
#endif
  return {device, nullptr};
}

void Stream::synchronize() const {
#if defined(WEFT_WITH_CUDA)
  if (device_.kind == DeviceKind::cuda) detail::cuda_synchronize(device_);
#endif
}

}  // namespace weft
