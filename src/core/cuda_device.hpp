#pragma once

// What core needs of the CUDA runtime. Defined in cuda/cuda_device.cpp, or, in a build without
// CUDA, not used: require_available has thrown before.

#include <weft/core/device.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weft::detail {

int cuda_device_count();
/// The same number for the same GPU, in whatever process and by whatever ordinal.
std::uint64_t cuda_gpu_id(Device device);
/// This thread's.
void* cuda_stream(Device device);
std::shared_ptr<void> cuda_make_stream(Device device);
void cuda_synchronize(void* stream);
/// Waits for the work of all threads, and says nothing about what came of it.
void cuda_drain(Device device) noexcept;

void* cuda_make_event(Device device);
void cuda_record(void* event, void* stream);
bool cuda_passed(void* event);
void cuda_wait(void* stream, void* event);
void cuda_destroy_event(void* event) noexcept;

std::shared_ptr<void> cuda_capture(Device device, const std::function<void()>& work);
void cuda_launch(Device device, void* graph);

/// In the order of this thread's stream. Returns nullptr if there is not enough.
void* cuda_allocate(Device device, std::size_t bytes);
void cuda_release(Device device, void* data) noexcept;
/// Returns memory that is not in use to the system.
void cuda_trim(Device device);
/// Room for a few numbers of this thread.
void* cuda_scalars(Device device);
/// Bytes that the device has left.
std::size_t cuda_free_bytes(Device device);

/// Host memory that a GPU reads and writes by itself. nullptr if there is not enough.
void* cuda_allocate_pinned(std::size_t bytes);

/// In the order of this thread's stream; see copy_bytes. With pinned memory on the host's side,
/// `cuda_copy_pinned` does not wait at all.
void cuda_copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);
void cuda_copy_pinned(void* to, const void* from, std::size_t bytes, Device gpu);

/// Looks, while the thread that made it waits for a GPU, whether what it waits for can still come;
/// throws if not.
class WaitGuard {
 public:
  WaitGuard();
  virtual ~WaitGuard();
  WaitGuard(const WaitGuard&) = delete;
  WaitGuard& operator=(const WaitGuard&) = delete;

  virtual void check(std::chrono::duration<double> waited) = 0;
};

}  // namespace weft::detail
