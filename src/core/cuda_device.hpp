#pragma once

// What core needs of the CUDA runtime. Defined in cuda/cuda_device.cpp, or, in a build without
// CUDA, not used: require_available has thrown before.

#include <weft/core/device.hpp>

#include <cstddef>

namespace weft::detail {

int cuda_device_count();
void* cuda_stream(Device device);
void cuda_synchronize(Device device);
/// In the order of this thread's stream. Returns nullptr if there is not enough.
void* cuda_allocate(Device device, std::size_t bytes);
void cuda_release(Device device, void* data) noexcept;
/// Returns memory that is not in use to the system.
void cuda_trim(Device device);
/// Room for a few numbers of this thread.
void* cuda_scalars(Device device);
/// Bytes that the device has left.
std::size_t cuda_free_bytes(Device device);
/// In the order of this thread's stream; returns when the bytes have arrived if the host is
/// involved.
void cuda_copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);

}  // namespace weft::detail
