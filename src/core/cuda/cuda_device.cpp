#include "core/cuda_device.hpp"

#include <weft/core/cuda/support.hpp>
#include <weft/core/dispatch.hpp>

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <type_traits>

namespace weft::detail {
namespace {

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) [[likely]]
    return;
  throw DeviceError(fmt::format("{}: {}", call, cudaGetErrorString(code)));
}

struct StreamDeleter {
  void operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }
};
using OwnedStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, StreamDeleter>;

/// What a thread has on one GPU.
struct ThreadDevice {
  OwnedStream stream;
  void* scratch = nullptr;
  void* scalars = nullptr;
};

// Room for results of kernels, in bytes.
constexpr std::size_t scalar_bytes = 256;
constexpr std::size_t counter_bytes = 256;

/// By default the driver returns freed memory to the system at every synchronisation.
void keep_freed_memory(int ordinal) {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, ordinal), "cudaDeviceGetDefaultMemPool");
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
        "cudaMemPoolSetAttribute");
}

/// Not freed when the thread ends: at the end of the process the driver may be gone before.
ThreadDevice& thread_device(int ordinal) {
  thread_local std::map<int, ThreadDevice> devices;
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  ThreadDevice& mine = devices[ordinal];
  if (mine.stream == nullptr) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    mine.stream.reset(stream);
    constexpr std::size_t bytes = cuda_partial_bytes + counter_bytes + scalar_bytes;
    check(cudaMalloc(&mine.scratch, bytes), "cudaMalloc");
    check(cudaMemsetAsync(mine.scratch, 0, bytes, stream), "cudaMemsetAsync");
    mine.scalars = static_cast<std::byte*>(mine.scratch) + cuda_partial_bytes + counter_bytes;
    keep_freed_memory(ordinal);
  }
  return mine;
}

}  // namespace

int cuda_device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void* cuda_stream(Device device) { return thread_device(device.ordinal).stream.get(); }

Cuda cuda_tag(Device device) { return {cuda_stream(device)}; }

void cuda_synchronize(Device device) {
  check(cudaStreamSynchronize(thread_device(device.ordinal).stream.get()), "cudaStreamSynchronize");
}

void* cuda_allocate(Device device, std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t code =
      cudaMallocAsync(&data, bytes, thread_device(device.ordinal).stream.get());
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(code, "cudaMallocAsync");
  return data;
}

void cuda_release(Device device, void* data) noexcept {
  try {
    cudaFreeAsync(data, thread_device(device.ordinal).stream.get());
  } catch (const DeviceError&) {
    // Without a device there is nothing to give back.
  }
}

std::size_t cuda_free_bytes(Device device) {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaSetDevice(device.ordinal), "cudaSetDevice");
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

void cuda_copy(void* to, Device to_device, const void* from, Device from_device,
               std::size_t bytes) {
  const Device gpu = to_device.kind == DeviceKind::cuda ? to_device : from_device;
  const cudaStream_t stream = thread_device(gpu.ordinal).stream.get();
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
  if (to_device.kind != DeviceKind::cuda || from_device.kind != DeviceKind::cuda) {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
}

void check_cuda_launch() { check(cudaGetLastError(), "kernel launch"); }

CudaScratch cuda_scratch() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "cudaGetDevice");
  auto* memory = static_cast<std::byte*>(thread_device(ordinal).scratch);
  return {memory, reinterpret_cast<unsigned*>(memory + cuda_partial_bytes)};
}

void cuda_trim(Device device) {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device.ordinal), "cudaDeviceGetDefaultMemPool");
  check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
}

void* cuda_scalars(Device device) { return thread_device(device.ordinal).scalars; }

}  // namespace weft::detail
