#pragma once

#include <weft/array/array_view.hpp>
#include <weft/core/buffer.hpp>

#include <concepts>
#include <memory>
#include <span>
#include <utility>

namespace weft {

/// Says that the elements of a new array will be written before they are read.
struct Uninitialized {};
inline constexpr Uninitialized uninitialized;

/// An element of a layout: an array whose parts live on the ranks of a communicator. This object
/// owns the part of this rank, in row-major order. Copies are deep, and a const array is read-only.
/// Functions that read take a ConstArrayView, which is a base class; functions that write take an
/// ArrayView, to which an array converts. Arithmetic is in arithmetic.hpp, sums and norms are in
/// reductions.hpp.
template <Scalar T>
class DistributedArray : public ConstArrayView<T> {
 public:
  /// Filled with zeros.
  explicit DistributedArray(Layout layout);
  DistributedArray(Layout layout, Uninitialized);
  /// A deep copy.
  explicit DistributedArray(const ConstArrayView<T>& other);
  /// Takes this rank's part of a global array that every rank has. No messages.
  static DistributedArray from_global(Layout layout, std::span<const T> values);
  /// Distributes an array that `root` has; other ranks pass nothing. One all_to_all (a broadcast,
  /// if it has no axes).
  static DistributedArray from_root(Layout layout, std::span<const T> values, int root);

  // A moved-from array can be assigned to and has local_count() 0; every other use throws.

  DistributedArray(const DistributedArray& other);
  DistributedArray(DistributedArray&& other) noexcept;
  /// Reuses the memory if the layouts are equal.
  DistributedArray& operator=(const DistributedArray& other);
  DistributedArray& operator=(DistributedArray&& other) noexcept;
  ~DistributedArray() = default;

  /// Write access for as long as the array exists and is not moved.
  operator ArrayView<T>() & {
    return ArrayView<T>(typename ConstArrayView<T>::Checked{}, this->layout(), memory_.data(),
                        this->count_);
  }

  using ConstArrayView<T>::data;
  using ConstArrayView<T>::local;
  using ConstArrayView<T>::view;
  T* data() {
    if (memory_.data() == nullptr) [[unlikely]]
      this->layout();  // throws if moved from
    return memory_.data();
  }
  std::span<T> local() { return writable().local(); }
  LocalView<T> view() { return writable().view(); }
  /// A part of a stack; the part of a temporary array keeps it alive.
  ConstArrayView<T> part(int index) const& { return ConstArrayView<T>::part(index); }
  ArrayView<T> part(int index) & { return writable().part(index); }
  ArrayView<T> part(int index) &&;
  void from_host(std::span<const T> values) { writable().from_host(values); }
  void fill(T value) { writable().fill(value); }
  template <class F>
    requires std::invocable<F&, const Index&>
  void fill(F f) { writable().fill(f); }

 private:
  ArrayView<T> writable() { return *this; }

  Buffer<T> memory_;
};

template <Scalar T>
ConstArrayView<T>::ConstArrayView(DistributedArray<T>&& array)
    : ConstArrayView(Checked{}, array.layout(), array.data(), array.local_count()) {
  keep_alive_ = std::make_shared<DistributedArray<T>>(std::move(array));
}

template <Scalar T>
ArrayView<T> DistributedArray<T>::part(int index) && {
  auto owner = std::make_shared<DistributedArray>(std::move(*this));
  const ArrayView<T> whole(typename ConstArrayView<T>::Checked{}, owner->layout(), owner->data(),
                           owner->local_count(), owner);
  return whole.part(index);
}

template <Scalar T>
ConstArrayView<T>& ConstArrayView<T>::operator=(DistributedArray<T>&& array) & {
  return *this = ConstArrayView(std::move(array));
}

}  // namespace weft
