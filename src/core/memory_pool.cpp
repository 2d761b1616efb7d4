#include <weft/core/buffer.hpp>
#include <weft/core/device_access.hpp>
#include <weft/core/error.hpp>
#include <weft/core/format.hpp>

#include "core/cuda_device.hpp"
#include "core/debug_memory.hpp"
#include "core/page_offsets.hpp"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Block sizes are rounded up to eight steps per power of two: at most an eighth is wasted, and
/// arrays of similar size can reuse each other's blocks.
std::size_t block_size(std::size_t bytes) {
  const std::size_t step = std::max(alignment, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

/// Blocks of at least this size get different offsets in a page, and an extra page for that; see
/// PageOffsets (derivative_bench).
constexpr std::size_t staggered_bytes = 32 << 10;

bool is_staggered(Device device, std::size_t bytes) {
  return device.kind == DeviceKind::cpu && bytes >= staggered_bytes;
}

/// Trivially destructible: static arrays are released after thread-local variables.
thread_local constinit detail::PageOffsets page_offsets;

void* begin_of_page(void* data) {
  return static_cast<std::byte*>(data) - detail::PageOffsets::of(data);
}

/// Allocates whole pages, one more than `bytes` needs.
void* allocate_pages(std::size_t bytes) {
  const std::size_t padded = bytes + detail::PageOffsets::page;
  void* data = nullptr;
  if (posix_memalign(&data, bytes < huge_page ? detail::PageOffsets::page : huge_page, padded) !=
      0) {
    return nullptr;
  }
  // Large arrays are read sequentially: huge pages avoid a TLB miss every 4 KiB.
  if (bytes >= huge_page) madvise(data, padded, MADV_HUGEPAGE);
  return data;
}

void* system_allocate(Device device, std::size_t bytes) {
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) return detail::cuda_allocate(device, bytes);
#endif
  if (device.kind == DeviceKind::debug) return detail::debug_allocate(bytes);
  return is_staggered(device, bytes) ? allocate_pages(bytes) : std::aligned_alloc(alignment, bytes);
}

void system_release(Device device, void* data, std::size_t bytes) noexcept {
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) {
    detail::cuda_release(device, data);
    return;
  }
#endif
  if (device.kind == DeviceKind::debug) {
    detail::debug_release(data, bytes);
  } else {
    std::free(is_staggered(device, bytes) ? begin_of_page(data) : data);
  }
}

std::string free_bytes_text([[maybe_unused]] Device device) {
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) {
    return fmt::format(", {} bytes free", detail::cuda_free_bytes(device));
  }
#endif
  return {};
}

/// Keeps released blocks for the next request of the same size. One per device, for all threads.
/// On a GPU the driver pools memory, since it knows when a stream is done with a block.
class MemoryPool {
 public:
  explicit MemoryPool(Device device) : device_(device) {}

  void* allocate(std::size_t bytes) {
    const std::size_t size = block_size(bytes);
    const std::lock_guard lock(mutex_);
    void* data = nullptr;
    if (auto& free = free_[size]; !free.empty()) {
      data = free.back();
      free.pop_back();
    } else {
      data = system_allocate(device_, size);
      if (data == nullptr) {  // unused blocks of other sizes may hold the memory
        release_unused();
        data = system_allocate(device_, size);
      }
    }
    if (data == nullptr) {
      throw DeviceError(fmt::format("out of memory on {}: {} bytes requested, {} bytes in use{}",
                                    device_, bytes, stats_.bytes_in_use, free_bytes_text(device_)));
    }
    if (is_staggered(device_, size)) {
      const std::size_t offset = page_offsets.take(detail::PageOffsets::of(data));
      data = static_cast<std::byte*>(begin_of_page(data)) + offset;
    }
    ++stats_.allocations;
    stats_.bytes_in_use += static_cast<index_t>(size);
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
    return data;
  }

  void release(void* data, std::size_t bytes) noexcept {
    const std::size_t size = block_size(bytes);
    const std::lock_guard lock(mutex_);
    stats_.bytes_in_use -= static_cast<index_t>(size);
    if (is_staggered(device_, size)) page_offsets.release(detail::PageOffsets::of(data));
    if (device_.kind == DeviceKind::cuda) {
      system_release(device_, data, size);
      return;
    }
    try {
      free_[size].push_back(data);
    } catch (const std::bad_alloc&) {
      system_release(device_, data, size);
    }
  }

  void trim() {
    const std::lock_guard lock(mutex_);
    release_unused();
  }

  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  void release_unused() {
    for (auto& [size, blocks] : free_) {
      for (void* block : blocks) system_release(device_, block, size);
      blocks.clear();
    }
#if defined(WEFT_WITH_CUDA)
    if (device_.kind == DeviceKind::cuda) detail::cuda_trim(device_);
#endif
  }

  Device device_;
  std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<void*>> free_;
  MemoryStats stats_;
};

MemoryPool& pool(Device device) {
  // Never destroyed: static arrays may be released after any other static object.
  static auto& cpu = *new MemoryPool(Device::cpu());
  static auto& debug = *new MemoryPool(Device::debug());
  static auto& gpus = *new std::map<int, MemoryPool>;
  static std::mutex mutex;
  switch (device.kind) {
    case DeviceKind::cpu: return cpu;
    case DeviceKind::debug: return debug;
    case DeviceKind::cuda: break;
  }
  const std::lock_guard lock(mutex);
  if (!gpus.contains(device.ordinal)) require_available(device);
  return gpus.try_emplace(device.ordinal, device).first->second;
}

}  // namespace

MemoryStats memory_stats(Device device) { return pool(device).stats(); }

void trim_memory(Device device) { pool(device).trim(); }

void* detail::pool_allocate(Device device, index_t count, std::size_t element_size) {
  index_t bytes = 0;
  require(count >= 0 && !__builtin_mul_overflow(count, static_cast<index_t>(element_size), &bytes),
          "Buffer: {} elements of {} bytes is not a valid size", count, element_size);
  if (bytes == 0) return nullptr;
  void* data = pool(device).allocate(static_cast<std::size_t>(bytes));
  if (device.kind == DeviceKind::debug) debug_lend(data, count, element_size);
  return data;
}

void detail::pool_release(Device device, void* data, std::size_t bytes) noexcept {
  if (device.kind == DeviceKind::debug) debug_give_back(data);
  pool(device).release(data, bytes);
}

void* detail::scalar_scratch(Device device, std::size_t bytes) {
  require(bytes <= scalar_scratch_bytes, "scalar_scratch: {} bytes requested, at most {} available",
          bytes, scalar_scratch_bytes);
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) return cuda_scalars(device);
#endif
  thread_local std::map<int, Buffer<std::byte>> scratch_buffers;
  Buffer<std::byte>& scratch = scratch_buffers[static_cast<int>(device.kind)];
  if (scratch.size() == 0) scratch = Buffer<std::byte>(scalar_scratch_bytes, device);
  return scratch.data();
}

}  // namespace weft
