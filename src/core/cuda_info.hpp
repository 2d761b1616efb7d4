#pragma once

// Information about CUDA. Defined in cuda/cuda_info.cpp, in builds with CUDA only.

#include <weft/core/device_info.hpp>

#include <optional>

namespace weft::detail {

DeviceInfo cuda_device_info(Device device);
/// Versions of the runtime and of the driver, such as "13.0"; empty without a driver.
std::string cuda_runtime_version();
std::string cuda_driver_version();
/// Identifies a GPU of a host in all processes, whatever its ordinal there.
std::uint64_t cuda_gpu_id(Device device);
/// The number of hardware queues for streams of this process: CUDA_DEVICE_MAX_CONNECTIONS.
int cuda_connections();
/// Processes can map each other's memory of the GPU.
bool cuda_has_ipc(Device device);
/// Contexts on the GPU belong to the multi-process service; empty if the driver does not tell.
std::optional<bool> cuda_uses_mps(Device device);
/// Kernels on the GPU can access memory of the peer.
bool cuda_can_access(Device device, Device peer);

}  // namespace weft::detail
