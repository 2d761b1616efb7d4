#include "core/pinned_buffer.hpp"

#include <weft/core/error.hpp>

#include "core/cuda_device.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

struct Block {
  std::byte* data = nullptr;
  Event in_use;
};

/// Never destroyed and never trimmed: staged copies usually repeat.
struct PinnedPool {
  std::mutex mutex;
  std::map<std::size_t, std::vector<Block>> free;
};

PinnedPool& pool() {
  static auto& instance = *new PinnedPool;
  return instance;
}

std::byte* allocate(std::size_t bytes) {
#if defined(WEFT_WITH_CUDA)
  static const bool has_gpu = cuda_device_count() > 0;
  if (has_gpu) return static_cast<std::byte*>(cuda_allocate_pinned(bytes));
#endif
  return static_cast<std::byte*>(std::malloc(bytes));
}

}  // namespace

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  if (bytes == 0) return;
  bytes_ = std::bit_ceil(std::max<std::size_t>(bytes, 4096));
  {
    const std::lock_guard lock(pool().mutex);
    auto& blocks = pool().free[bytes_];
    const auto block = std::find_if(blocks.begin(), blocks.end(),
                                    [](const Block& each) { return each.in_use.passed(); });
    if (block != blocks.end()) {
      data_ = block->data;
      in_use_ = std::move(block->in_use);
      blocks.erase(block);
      return;
    }
  }
  data_ = allocate(bytes_);
  if (data_ == nullptr) {
    throw DeviceError(
        fmt::format("out of memory: {} bytes of pinned host memory requested to "
                    "stage copies to and from a device",
                    bytes_));
  }
}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(in_use_, other.in_use_);
  return *this;
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ == nullptr) return;
  try {
    const std::lock_guard lock(pool().mutex);
    pool().free[bytes_].push_back({data_, std::move(in_use_)});
  } catch (const std::bad_alloc&) {
    // The memory is leaked rather than ending the program.
  }
}

void PinnedBuffer::fetch(const void* from, Device device, std::size_t bytes) {
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda && bytes > 0) {
    cuda_copy_pinned(data_, from, bytes, device);
    try {
      Stream::current(device).synchronize();
    } catch (...) {
      release_after(Stream::current(device));  // the copy may still run
      throw;
    }
    return;
  }
#endif
  copy_bytes(data_, Device::cpu(), from, device, bytes);
}

void PinnedBuffer::deliver(void* to, Device device, std::size_t bytes) {
#if defined(WEFT_WITH_CUDA)
  if (device.kind == DeviceKind::cuda && bytes > 0) {
    cuda_copy_pinned(to, data_, bytes, device);
    release_after(Stream::current(device));
    return;
  }
#endif
  copy_bytes(to, device, data_, Device::cpu(), bytes);
}

void PinnedBuffer::release_after(const Stream& stream) {
  if (data_ == nullptr) return;
  in_use_.record(stream);
  *this = PinnedBuffer();
}

}  // namespace weft::detail
