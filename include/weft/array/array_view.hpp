#pragma once

#include <weft/array/layout.hpp>
#include <weft/array/local_view.hpp>
#include <weft/core/scalars.hpp>

#include <algorithm>
#include <concepts>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

template <Scalar T>
class ArrayView;
template <Scalar T>
class DistributedArray;

namespace detail {
[[noreturn]] void refuse_moved_from();
}

/// Read access to an array whose parts live on the ranks of a communicator: a layout, and the
/// memory of this rank's part in row-major order. Copies and assignments copy the reference, not
/// the elements. The memory must outlive the view, unless the view holds a handle that keeps it
/// alive. Include distributed_array.hpp for the members that return arrays.
template <Scalar T>
class ConstArrayView {
 public:
  /// Refers to `count` elements on the layout's device. Every copy of the view, and every view of a
  /// part of it, holds `keep_alive`.
  ConstArrayView(Layout layout, const T* data, index_t count,
                 std::shared_ptr<void> keep_alive = {});
  /// Moves an array that would otherwise be destroyed into the view, which keeps it alive.
  ConstArrayView(DistributedArray<T>&& array);
  /// The view would outlive a const temporary, which cannot be moved from.
  ConstArrayView(const DistributedArray<T>&& array) = delete;
  ConstArrayView(const ConstArrayView&) = default;
  ConstArrayView& operator=(const ConstArrayView&) & = default;
  ConstArrayView& operator=(DistributedArray<T>&& array) &;
  ConstArrayView& operator=(const DistributedArray<T>&& array) & = delete;
  ~ConstArrayView() = default;

  const Layout& layout() const {
    if (!layout_.valid()) [[unlikely]]
      detail::refuse_moved_from();
    return layout_;
  }
  const Comm& comm() const { return layout().comm(); }
  Device device() const { return layout().device(); }
  const Shape& shape() const { return layout().shape(); }
  const Shape& local_shape() const { return layout().box().shape; }
  const Index& offset() const { return layout().box().offset; }

  /// This rank's elements: on the device, and, if the host can access them, as a span and as a
  /// grid.
  index_t local_count() const { return count_; }
  const T* data() const {
    if (data_ == nullptr) [[unlikely]]
      layout();  // throws if moved from
    return data_;
  }
  std::span<const T> local() const;
  LocalView<const T> view() const { return {local().data(), local_shape()}; }
  /// A part of a stack.
  ConstArrayView part(int index) const;

  /// This rank's elements, copied to the host.
  std::vector<T> to_host() const;
  DistributedArray<T> copy() const;
  DistributedArray<T> zeros_like() const;
  /// The same elements in another layout of the same shape: one all_to_all, or none.
  DistributedArray<T> redistribute(const Layout& to) const;
  /// The same elements in row-major order under another shape, cut along its first axis. Sends no
  /// message if the cuts fall between rows of the new shape.
  DistributedArray<T> reshape(const Shape& to) const;
  /// The global array in row-major order on one rank (others get nothing), or on all.
  std::vector<T> gather(int root) const;
  std::vector<T> all_gather() const;

 private:
  friend class ArrayView<T>;
  friend class DistributedArray<T>;
  /// For memory that is known to fit the layout.
  struct Checked {};
  ConstArrayView(Checked, Layout layout, const T* data, index_t count,
                 std::shared_ptr<void> keep_alive = {})
      : layout_(std::move(layout)),
        data_(data),
        count_(count),
        keep_alive_(std::move(keep_alive)) {}

  Layout layout_;
  const T* data_;
  index_t count_;
  std::shared_ptr<void> keep_alive_;
};

/// Read and write access to an array. Like a pointer, a view that is const gives write access too.
/// To copy elements use copy(x, y) of arithmetic.hpp.
template <Scalar T>
class ArrayView : public ConstArrayView<T> {
 public:
  ArrayView(Layout layout, T* data, index_t count, std::shared_ptr<void> keep_alive = {});
  ArrayView(const ArrayView&) = default;
  ArrayView& operator=(const ArrayView&) & = default;
  ~ArrayView() = default;

  T* data() const {
    if (writable_ == nullptr) [[unlikely]]
      this->layout();
    return writable_;
  }
  std::span<T> local() const;
  LocalView<T> view() const { return {local().data(), this->local_shape()}; }
  ArrayView part(int index) const;

  /// Copies this rank's elements from the host.
  void from_host(std::span<const T> values) const;
  void fill(T value) const;
  /// x[at] = f(at) for the global index of every element. On a GPU, the GPU evaluates f if nvcc
  /// compiles the program and f is a lambda marked __host__ __device__; otherwise the host does.
  template <class F>
    requires std::invocable<F&, const Index&>
  void fill(F f) const;

 private:
  friend class DistributedArray<T>;
  using typename ConstArrayView<T>::Checked;
  ArrayView(Checked, Layout layout, T* data, index_t count, std::shared_ptr<void> keep_alive = {})
      : ConstArrayView<T>(Checked{}, std::move(layout), data, count, std::move(keep_alive)),
        writable_(data) {}

  T* writable_;
};

namespace detail {
/// Output parameters of functions that deduce T from their inputs: these take arrays and views.
template <class T>
using Output = std::type_identity_t<ArrayView<T>>;

/// Converts a value that a program computes to an element, with an explicit narrowing.
template <Scalar T, class V>
constexpr T element(V value) {
  if constexpr (std::integral<V>) {
    return static_cast<Real<T>>(value);
  } else {
    return static_cast<T>(value);
  }
}
}  // namespace detail

}  // namespace weft

#if defined(__CUDACC__)
#include <weft/array/cuda/fill.cuh>
#endif

namespace weft {

template <Scalar T>
template <class F>
  requires std::invocable<F&, const Index&>
void ArrayView<T>::fill(F f) const {
  const Box& box = this->layout().box();
  const Device device = this->device();
  const index_t count = this->local_count();
#if defined(__CUDACC__)
  if constexpr (detail::runs_on_gpu<F>) {
    if (device.kind == DeviceKind::cuda) {
      detail::fill_on_gpu(device, box, count, data(), f);
      return;
    }
  }
#endif
  // Values for a device are computed on the host in chunks and copied.
  constexpr index_t chunk = 1 << 18;
  const bool in_place = device.host_accessible();
  std::vector<T> staged(static_cast<std::size_t>(in_place ? 0 : std::min(count, chunk)));
  T* const elements = data();
  Index at = box.offset;
  for (index_t first = 0; first < count; first += chunk) {
    const index_t n = std::min(chunk, count - first);
    T* values = in_place ? elements + first : staged.data();
    for (index_t i = 0; i < n; ++i) {
      values[i] = detail::element<T>(f(static_cast<const Index&>(at)));
      for (int axis = at.ndim() - 1; axis >= 0; --axis) {
        if (++at[axis] < box.end(axis)) break;
        at[axis] = box.offset[axis];
      }
    }
    if (!in_place)
      copy_bytes(elements + first, device, values, Device::cpu(),
                 sizeof(T) * static_cast<std::size_t>(n));
  }
}

}  // namespace weft
