#pragma once

#include <weft/core/buffer.hpp>
#include <weft/core/device.hpp>
#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
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

/// A range whose elements outlive the expression that names it: an lvalue, or a view such as a
/// span.
template <class R>
concept OutlivesCall =
    std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>;

}  // namespace detail

/// Elements to send: address, count, type and device. Does not own them.
struct ConstBufferRef {
  const void* data = nullptr;
  index_t count = 0;
  DType dtype = DType::u8;
  Device where;

  ConstBufferRef() = default;
  template <Communicable T>
  ConstBufferRef(const T* first, index_t elements, Device device = Device::cpu())
      : data(first), count(elements), dtype(dtype_of<T>), where(device) {}
  ConstBufferRef(const void* first, index_t elements, DType type, Device device)
      : data(first), count(elements), dtype(type), where(device) {}
  template <detail::Contiguous R>
  ConstBufferRef(const R& range)
      : ConstBufferRef(std::data(range), static_cast<index_t>(std::size(range))) {}
  template <Communicable T>
  ConstBufferRef(const Buffer<T>& buffer)
      : ConstBufferRef(buffer.data(), buffer.size(), buffer.device()) {}

  index_t bytes() const { return count * size_of(dtype); }
  /// `elements` elements from element `first` on.
  ConstBufferRef part(index_t first, index_t elements) const {
    return {static_cast<const std::byte*>(data) + first * size_of(dtype), elements, dtype, where};
  }
};

/// Memory for elements to receive. Does not own it.
struct BufferRef {
  void* data = nullptr;
  index_t count = 0;
  DType dtype = DType::u8;
  Device where;

  BufferRef() = default;
  template <Communicable T>
  BufferRef(T* first, index_t elements, Device device = Device::cpu())
      : data(first), count(elements), dtype(dtype_of<T>), where(device) {}
  BufferRef(void* first, index_t elements, DType type, Device device)
      : data(first), count(elements), dtype(type), where(device) {}
  template <detail::WritableContiguous R>
  BufferRef(R&& range) : BufferRef(std::data(range), static_cast<index_t>(std::size(range))) {}
  template <Communicable T>
  BufferRef(Buffer<T>& buffer) : BufferRef(buffer.data(), buffer.size(), buffer.device()) {}

  operator ConstBufferRef() const { return {data, count, dtype, where}; }
  index_t bytes() const { return count * size_of(dtype); }
  BufferRef part(index_t first, index_t elements) const {
    return {static_cast<std::byte*>(data) + first * size_of(dtype), elements, dtype, where};
  }
};

/// A ConstBufferRef for calls that return before they are complete. It cannot be made from a
/// temporary container, whose memory would be gone when the call reads it.
struct AsyncConstBufferRef : ConstBufferRef {
  template <Communicable T>
  AsyncConstBufferRef(const T* first, index_t elements, Device device = Device::cpu())
      : ConstBufferRef(first, elements, device) {}
  AsyncConstBufferRef(const ConstBufferRef& ref) : ConstBufferRef(ref) {}
  AsyncConstBufferRef(const BufferRef& ref) : ConstBufferRef(ref) {}
  template <detail::OutlivesCall R>
    requires std::constructible_from<ConstBufferRef, R&> AsyncConstBufferRef(R&& range)
        : ConstBufferRef(range) {}
};

/// A BufferRef for calls that return before they are complete; see AsyncConstBufferRef.
struct AsyncBufferRef : BufferRef {
  template <Communicable T>
  AsyncBufferRef(T* first, index_t elements, Device device = Device::cpu())
      : BufferRef(first, elements, device) {}
  AsyncBufferRef(const BufferRef& ref) : BufferRef(ref) {}
  template <detail::OutlivesCall R>
    requires std::constructible_from<BufferRef, R&> AsyncBufferRef(R&& range) : BufferRef(range) {}
};

}  // namespace weft
