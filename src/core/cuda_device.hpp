#pragma once

// The CUDA runtime for core. Defined in cuda/cuda_device.cpp; not used in a build without CUDA,
// where require_available throws.

#include <weft/core/device.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weft::detail {

int cuda_device_count();
/// This thread's.
void* cuda_stream(Device device);
std::shared_ptr<void> cuda_make_stream(Device device);
/// Sets this thread's stream; returns the one before.
std::shared_ptr<void> cuda_exchange_stream(Device device, std::shared_ptr<void> stream);
/// The GPU of a stream.
Device cuda_device_of(void* stream);
void cuda_synchronize(void* stream);
/// Waits for the work of all threads and ignores errors.
void cuda_drain(Device device) noexcept;

void* cuda_make_event(Device device);
void cuda_record(void* event, void* stream);
bool cuda_passed(void* event);
void cuda_wait(void* stream, void* event);
void cuda_destroy_event(void* event) noexcept;

bool cuda_is_capturing(void* stream);
std::shared_ptr<void> cuda_capture(Device device, const std::function<void()>& work);
void cuda_launch(Device device, void* graph);

/// Ordered on this thread's stream. Returns nullptr without enough memory.
void* cuda_allocate(Device device, std::size_t bytes);
void cuda_release(Device device, void* data) noexcept;
/// Returns unused memory to the system.
void cuda_trim(Device device);
/// Scratch memory of this thread for a few numbers.
void* cuda_scalars(Device device);
/// Free bytes of the device.
std::size_t cuda_free_bytes(Device device);

/// Pinned host memory; nullptr without enough memory.
void* cuda_allocate_pinned(std::size_t bytes);

/// Ordered on this thread's stream; see copy_bytes. With pinned host memory, `cuda_copy_pinned`
/// does not wait.
void cuda_copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);
void cuda_copy_pinned(void* to, const void* from, std::size_t bytes, Device gpu);

/// Called while the thread that made it waits for a GPU; throws if the wait cannot succeed.
class WaitGuard {
 public:
  WaitGuard();
  virtual ~WaitGuard();
  WaitGuard(const WaitGuard&) = delete;
  WaitGuard& operator=(const WaitGuard&) = delete;

  virtual void check(std::chrono::duration<double> waited) = 0;
};

}  // namespace weft::detail
