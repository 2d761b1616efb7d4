#pragma once

#include <weft/core/compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

enum class DeviceKind : std::uint8_t {
  cpu,
  /// Runs kernels on the CPU in memory that the host can access only through copies: tests device
  /// code paths on machines without a GPU.
  debug,
  cuda,
};

/// Where memory lives and kernels run.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int ordinal = 0;

  static constexpr Device cpu() { return {}; }
  static constexpr Device debug() { return {DeviceKind::debug, 0}; }
  static constexpr Device cuda(int ordinal = 0) { return {DeviceKind::cuda, ordinal}; }
  /// Parses "cpu", "debug", "cuda" or "cuda:1".
  static Device parse(std::string_view text);

  /// The host can access this device's memory directly.
  constexpr bool host_accessible() const { return kind == DeviceKind::cpu; }
  friend constexpr bool operator==(Device, Device) = default;
};

/// "cpu", "debug" or "cuda"
std::string_view to_string(DeviceKind kind);
/// "cpu", "debug" or "cuda:1"
std::string to_string(Device device);

/// The tag of kernels that run on the CPU, for the devices `cpu` and `debug`.
struct Cpu {};

/// The tag of kernels that run on an NVIDIA GPU: the current one, on this stream.
struct Cuda {
  void* stream = nullptr;
};

/// The number of devices of a kind that this build and this machine have.
int device_count(DeviceKind kind);
/// Throws DeviceError if this build or this machine lacks the device.
void require_available(Device device);

/// Copies bytes between any two devices, ordered on this thread's streams. A copy to the host
/// returns when it is complete; others return at once. Host memory that was read may be changed
/// afterwards.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes);

}  // namespace weft
