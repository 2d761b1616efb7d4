#pragma once

#include <weft/core/buffer.hpp>
#include <weft/core/device.hpp>
#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft {
namespace detail {

/// Something with data() and size() of a communicable element type: a vector, a span, an array.
template <class R>
concept Contiguous = requires(R& range) {
  std::data(range);
  std::size(range);
  requires Communicable<std::remove_cvref_t<decltype(*std::data(range))>>;
};

template <class R>
concept WritableContiguous = Contiguous<R> &&
    !std::is_const_v<std::remove_pointer_t<decltype(std::data(std::declval<R&>()))>>;

}  // namespace detail

/// Elements to be sent: where they are, how many, of what type, on which device. Does not own them.
struct ConstMemory {
  const void* data = nullptr;
  index_t count = 0;
  DType dtype = DType::u8;
  Device where;

  ConstMemory() = default;
  template <Communicable T>
  ConstMemory(const T* first, index_t elements, Device device = Device::cpu())
      : data(first), count(elements), dtype(dtype_of<T>), where(device) {}
  ConstMemory(const void* first, index_t elements, DType type, Device device)
      : data(first), count(elements), dtype(type), where(device) {}
  template <detail::Contiguous R>
  ConstMemory(const R& range)
      : ConstMemory(std::data(range), static_cast<index_t>(std::size(range))) {}
  template <Communicable T>
  ConstMemory(const Buffer<T>& buffer)
      : ConstMemory(buffer.data(), buffer.size(), buffer.device()) {}

  index_t bytes() const { return count * size_of(dtype); }
  /// The `elements` elements that begin at element `first`.
  ConstMemory part(index_t first, index_t elements) const {
    return {static_cast<const std::byte*>(data) + first * size_of(dtype), elements, dtype, where};
  }
};

/// Room for elements to be received. Does not own it.
struct Memory {
  void* data = nullptr;
  index_t count = 0;
  DType dtype = DType::u8;
  Device where;

  Memory() = default;
  template <Communicable T>
  Memory(T* first, index_t elements, Device device = Device::cpu())
      : data(first), count(elements), dtype(dtype_of<T>), where(device) {}
  Memory(void* first, index_t elements, DType type, Device device)
      : data(first), count(elements), dtype(type), where(device) {}
  template <detail::WritableContiguous R>
  Memory(R&& range) : Memory(std::data(range), static_cast<index_t>(std::size(range))) {}
  template <Communicable T>
  Memory(Buffer<T>& buffer) : Memory(buffer.data(), buffer.size(), buffer.device()) {}

  operator ConstMemory() const { return {data, count, dtype, where}; }
  index_t bytes() const { return count * size_of(dtype); }
  Memory part(index_t first, index_t elements) const {
    return {static_cast<std::byte*>(data) + first * size_of(dtype), elements, dtype, where};
  }
};

}  // namespace weft
