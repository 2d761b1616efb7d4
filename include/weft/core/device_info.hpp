#pragma once

#include <weft/core/device.hpp>

#include <cstdint>
#include <string>

namespace weft {

/// What a device is, for people to read.
struct DeviceInfo {
  std::string name;
  /// Tells the devices of one host apart; empty for those a host has one of.
  std::string id;
  std::int64_t memory_bytes = 0;
  /// Of a GPU, such as "9.0".
  std::string compute_capability;
};

/// Throws DeviceError if this build or this machine does not have the device.
DeviceInfo device_info(Device device);

}  // namespace weft
