#pragma once

#include <weft/core/device.hpp>
#include <weft/core/shape.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace weft {

/// Memory in use from the pool of a device.
struct MemoryStats {
  index_t bytes_in_use = 0;
  index_t peak_bytes = 0;
  /// Number of requests, served from pooled or new memory.
  index_t allocations = 0;
};

/// Summed over all threads of this process.
MemoryStats memory_stats(Device device);
/// Returns the unused blocks of a device's pool to the system.
void trim_memory(Device device);

namespace detail {
void* pool_allocate(Device device, index_t count, std::size_t element_size);
void pool_release(Device device, void* data, std::size_t bytes) noexcept;
}  // namespace detail

/// Owned, uninitialised memory for `size` elements on a device, aligned to 64 bytes, from a pool.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(index_t size, Device device = Device::cpu()) : size_(size), device_(device) {
    data_ = static_cast<T*>(detail::pool_allocate(device, size, sizeof(T)));
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        device_(other.device_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(device_, other.device_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr) detail::pool_release(device_, data_, bytes());
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  index_t size() const { return size_; }
  Device device() const { return device_; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  T* data_ = nullptr;
  index_t size_ = 0;
  Device device_;
};

}  // namespace weft
