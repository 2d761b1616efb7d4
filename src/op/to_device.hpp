#pragma once

#include <weft/core/buffer.hpp>
#include <weft/core/device.hpp>

#include <span>

namespace weft::detail {

/// A copy of host values in the memory of a device.
template <class T>
Buffer<T> to_device(std::span<const T> values, Device device) {
  Buffer<T> copy(static_cast<index_t>(values.size()), device);
  copy_bytes(copy.data(), device, values.data(), Device::cpu(), values.size() * sizeof(T));
  return copy;
}

}  // namespace weft::detail
