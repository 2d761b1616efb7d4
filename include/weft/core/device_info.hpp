#pragma once

#include <weft/core/device.hpp>

#include <cstdint>
#include <string>

namespace weft {

/// A description of a device.
struct DeviceInfo {
  std::string name;
  /// Identifies a GPU of the host; empty for other devices.
  std::string id;
  std::int64_t memory_bytes = 0;
  /// Of a GPU, such as "9.0".
  std::string compute_capability;
};

/// Throws DeviceError if this build or this machine lacks the device.
DeviceInfo device_info(Device device);

}  // namespace weft
