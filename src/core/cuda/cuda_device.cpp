// Everything that core needs of the CUDA runtime, a few lines for each call; hence more than 400.

#include "core/cuda_device.hpp"

#include <weft/core/cuda/support.hpp>
#include <weft/core/device_access.hpp>
#include <weft/core/error.hpp>

#include "core/cuda/cuda_check.hpp"
#include "core/host_waits.hpp"
#include "core/pinned_buffer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

/// Resources of a thread on one GPU.
struct ThreadDevice {
  std::shared_ptr<void> stream;
  void* scratch = nullptr;
  void* scalars = nullptr;
};

// Scratch memory for results of kernels, in bytes.
constexpr std::size_t counter_bytes = 256;

/// On the current device.
std::shared_ptr<void> new_stream() {
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return {stream, [](void* each) { cudaStreamDestroy(static_cast<cudaStream_t>(each)); }};
}

/// Keeps freed memory: by default the driver returns it to the system at every synchronisation.
void keep_freed_memory(int ordinal) {
  cudaMemPool_t pool = nullptr;
  cuda_check(cudaDeviceGetDefaultMemPool(&pool, ordinal), "cudaDeviceGetDefaultMemPool");
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
             "cudaMemPoolSetAttribute");
}

ThreadDevice make_thread_device(int ordinal) {
  ThreadDevice made;
  made.stream = new_stream();
  auto* const stream = static_cast<cudaStream_t>(made.stream.get());
  constexpr std::size_t bytes = cuda_partial_bytes + counter_bytes + scalar_scratch_bytes;
  cuda_check(cudaMalloc(&made.scratch, bytes), "cudaMalloc");
  cuda_check(cudaMemsetAsync(made.scratch, 0, bytes, stream), "cudaMemsetAsync");
  made.scalars = static_cast<std::byte*>(made.scratch) + cuda_partial_bytes + counter_bytes;
  keep_freed_memory(ordinal);
  return made;
}

/// Resources of ended threads, for new ones. Never freed: at the end of the process the driver may
/// be gone.
struct ThreadDevicePool {
  std::mutex mutex;
  std::multimap<int, ThreadDevice> devices;
};

ThreadDevicePool& thread_device_pool() {
  static auto& instance = *new ThreadDevicePool;
  return instance;
}

class ThreadDevices {
 public:
  ThreadDevices() = default;
  ThreadDevices(const ThreadDevices&) = delete;
  ThreadDevices& operator=(const ThreadDevices&) = delete;
  ~ThreadDevices() {
    const std::lock_guard lock(thread_device_pool().mutex);
    thread_device_pool().devices.merge(mine_);
  }

  /// Makes the GPU current in this thread.
  ThreadDevice& get(int ordinal) {
    const auto found = mine_.find(ordinal);
    // cudaGetDevice takes half as long as cudaSetDevice; but the first GPU of a thread must be set.
    int current = -1;
    if (found == mine_.end() || cudaGetDevice(&current) != cudaSuccess || current != ordinal) {
      cuda_check(cudaSetDevice(ordinal), "cudaSetDevice");
    }
    if (found != mine_.end()) return found->second;
    {
      const std::lock_guard lock(thread_device_pool().mutex);
      if (auto left = thread_device_pool().devices.extract(ordinal)) {
        return mine_.insert(std::move(left))->second;
      }
    }
    return mine_.emplace(ordinal, make_thread_device(ordinal))->second;
  }

 private:
  std::multimap<int, ThreadDevice> mine_;  // one per GPU
};

ThreadDevice& thread_device(int ordinal) {
  thread_local ThreadDevices devices;
  return devices.get(ordinal);
}

cudaStream_t stream_on(Device device) {
  return static_cast<cudaStream_t>(thread_device(device.ordinal).stream.get());
}

/// Guards and their threads.
struct WaitGuards {
  std::mutex mutex;
  std::vector<std::pair<std::thread::id, WaitGuard*>> all;

  /// Valid until the next call on this thread.
  const std::vector<WaitGuard*>& of_this_thread() {
    thread_local std::vector<WaitGuard*> mine;  // a wait must not allocate
    const std::lock_guard lock(mutex);
    mine.clear();
    for (const auto& [thread, guard] : all) {
      if (thread == std::this_thread::get_id()) mine.push_back(guard);
    }
    return mine;
  }
};

WaitGuards& wait_guards() {
  static auto& instance = *new WaitGuards;
  return instance;
}

/// The only place where the host waits for a GPU.
void wait_for(cudaStream_t stream) {
  count_host_wait();
  const std::vector<WaitGuard*>& guards = wait_guards().of_this_thread();
  if (guards.empty()) {
    cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> waited{};
  for (int step = 1;; ++step) {
    const cudaError_t code = cudaStreamQuery(stream);
    if (code == cudaSuccess) break;
    if (code != cudaErrorNotReady) cuda_check(code, "cudaStreamQuery");
    if (step % 64 != 0) continue;
    waited = std::chrono::steady_clock::now() - start;
    for (WaitGuard* guard : guards) guard->check(waited);
    if (waited > std::chrono::milliseconds(10)) std::this_thread::yield();
  }
  // The work may have ended because it was aborted.
  for (WaitGuard* guard : guards) guard->check(waited);
}

void to_host(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  // Through pinned memory: with pageable memory, the driver waits without checking the guards.
  constexpr std::size_t small = std::size_t{64} << 10;
  if (bytes <= small) {
    thread_local PinnedBuffer landing(small);
    cuda_check(cudaMemcpyAsync(landing.data(), from, bytes, cudaMemcpyDeviceToHost, stream),
               "cudaMemcpyAsync");
    wait_for(stream);
    std::memcpy(to, landing.data(), bytes);
    return;
  }
  wait_for(stream);
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

/// The source may be changed when this returns, even if the copy is still in progress.
void from_host(void* to, const void* from, std::size_t bytes, Device gpu) {
  constexpr std::size_t chunk = std::size_t{4} << 20;
  constexpr std::size_t max_in_progress = 16 * chunk;  // limits the pinned memory
  for (std::size_t done = 0; done < bytes; done += chunk) {
    if (done > 0 && done % max_in_progress == 0) wait_for(stream_on(gpu));
    const std::size_t now = std::min(chunk, bytes - done);
    PinnedBuffer staged(now);
    std::memcpy(staged.data(), static_cast<const std::byte*>(from) + done, now);
    staged.deliver(static_cast<std::byte*>(to) + done, gpu, now);
  }
}

}  // namespace

int cuda_device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

// Streams

void* cuda_stream(Device device) { return stream_on(device); }

std::shared_ptr<void> cuda_make_stream(Device device) {
  cuda_check(cudaSetDevice(device.ordinal), "cudaSetDevice");
  return new_stream();
}

std::shared_ptr<void> cuda_exchange_stream(Device device, std::shared_ptr<void> stream) {
  return std::exchange(thread_device(device.ordinal).stream, std::move(stream));
}

Device cuda_device_of(void* stream) {
  int ordinal = 0;
  cuda_check(cudaStreamGetDevice(static_cast<cudaStream_t>(stream), &ordinal),
             "cudaStreamGetDevice");
  return Device::cuda(ordinal);
}

Cuda cuda_tag(Device device) { return {cuda_stream(device)}; }

void cuda_synchronize(void* stream) { wait_for(static_cast<cudaStream_t>(stream)); }

void cuda_drain(Device device) noexcept {
  if (cudaSetDevice(device.ordinal) == cudaSuccess) cudaDeviceSynchronize();
  cudaGetLastError();
}

WaitGuard::WaitGuard() {
  const std::lock_guard lock(wait_guards().mutex);
  wait_guards().all.emplace_back(std::this_thread::get_id(), this);
}

WaitGuard::~WaitGuard() {
  const std::lock_guard lock(wait_guards().mutex);
  std::erase_if(wait_guards().all, [&](const auto& each) { return each.second == this; });
}

void* cuda_make_event(Device device) {
  cuda_check(cudaSetDevice(device.ordinal), "cudaSetDevice");
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return event;
}

void cuda_record(void* event, void* stream) {
  cuda_check(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)),
             "cudaEventRecord");
}

bool cuda_passed(void* event) {
  const cudaError_t code = cudaEventQuery(static_cast<cudaEvent_t>(event));
  if (code == cudaErrorNotReady) return false;
  cuda_check(code, "cudaEventQuery");
  return true;
}

void cuda_wait(void* stream, void* event) {
  cuda_check(
      cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), 0),
      "cudaStreamWaitEvent");
}

void cuda_destroy_event(void* event) noexcept { cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

// Graphs

bool cuda_is_capturing(void* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda_check(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status),
             "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

std::shared_ptr<void> cuda_capture(Device device, const std::function<void()>& work) {
  const cudaStream_t stream = stream_on(device);
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  cuda_check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t made = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  cuda_check(code, "cudaGraphInstantiate");
  std::shared_ptr<void> owner(
      made, [](void* exec) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(exec)); });
  // Or the first launch would allocate memory: see FastGpuTransport::launch_together.
  cuda_check(cudaGraphUpload(made, stream), "cudaGraphUpload");
  return owner;
}

void cuda_launch(Device device, void* graph) {
  cuda_check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), stream_on(device)),
             "cudaGraphLaunch");
}

// Memory

void* cuda_allocate(Device device, std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t code = cudaMallocAsync(&data, bytes, stream_on(device));
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  cuda_check(code, "cudaMallocAsync");
  return data;
}

void cuda_release(Device device, void* data) noexcept {
  try {
    cudaFreeAsync(data, stream_on(device));
  } catch (const DeviceError&) {
    // Without a device there is nothing to release.
  }
}

std::size_t cuda_free_bytes(Device device) {
  std::size_t free = 0;
  std::size_t total = 0;
  cuda_check(cudaSetDevice(device.ordinal), "cudaSetDevice");
  cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

void* cuda_allocate_pinned(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t code = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  cuda_check(code, "cudaHostAlloc");
  return data;
}

void cuda_copy_pinned(void* to, const void* from, std::size_t bytes, Device gpu) {
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_on(gpu)),
             "cudaMemcpyAsync");
}

namespace {

/// A graph would refer to staging memory that is reused before the graph is launched.
void require_not_capturing(Device device) {
  if (!cuda_is_capturing(stream_on(device))) return;
  throw DeviceError("a copy from or to the host cannot be captured in a graph");
}

void copy_within(void* to, Device to_device, const void* from, Device from_device,
                 std::size_t bytes) {
  const Stream target = Stream::current(to_device);
  const Stream source = Stream::current(from_device);
  Event event;
  if (to_device != from_device) {
    event.record(source);
    target.wait(event);
  }
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_on(to_device)),
             "cudaMemcpyAsync");
  if (to_device != from_device) {
    event.record(target);
    source.wait(event);
  }
}

}  // namespace

void cuda_copy(void* to, Device to_device, const void* from, Device from_device,
               std::size_t bytes) {
  const bool within = to_device.kind == from_device.kind;
  if (!within) {
    require_not_capturing(to_device.kind == DeviceKind::cuda ? to_device : from_device);
  }
  if (to_device.kind != DeviceKind::cuda) {
    to_host(to, from, bytes, stream_on(from_device));
  } else if (from_device.kind != DeviceKind::cuda) {
    from_host(to, from, bytes, to_device);
  } else {
    copy_within(to, to_device, from, from_device, bytes);
  }
}

void cuda_trim(Device device) {
  cudaMemPool_t pool = nullptr;
  cuda_check(cudaDeviceGetDefaultMemPool(&pool, device.ordinal), "cudaDeviceGetDefaultMemPool");
  cuda_check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
}

// Kernels

void refuse_launch(const char* what) { throw DeviceError(fmt::format("no kernel for {}", what)); }

void check_cuda_launch() { cuda_check(cudaGetLastError(), "kernel launch"); }

CudaScratch cuda_scratch() {
  int ordinal = 0;
  cuda_check(cudaGetDevice(&ordinal), "cudaGetDevice");
  auto* memory = static_cast<std::byte*>(thread_device(ordinal).scratch);
  return {memory, reinterpret_cast<unsigned*>(memory + cuda_partial_bytes)};
}

void* cuda_scalars(Device device) { return thread_device(device.ordinal).scalars; }

}  // namespace weft::detail
