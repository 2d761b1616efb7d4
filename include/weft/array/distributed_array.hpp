#pragma once

#include <weft/array/layout.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/scalars.hpp>

#include <algorithm>
#include <concepts>
#include <span>
#include <vector>

namespace weft {

/// A rank's part of an array as an N-D grid in row-major order. Does not own it.
template <class T>
class LocalView {
 public:
  LocalView(T* data, const Shape& shape) : data_(data), shape_(shape) {}

  const Shape& shape() const { return shape_; }
  T* data() const { return data_; }
  T& operator[](const Index& at) const { return data_[linear(shape_, at)]; }
  template <std::integral... Indices>
  T& operator()(Indices... at) const {
    return (*this)[Index{static_cast<index_t>(at)...}];
  }

 private:
  T* data_;
  Shape shape_;
};

namespace detail {
[[noreturn]] void refuse_moved_from();
}

/// Says that the elements of a new array will be written before they are read.
struct Uninitialized {};
inline constexpr Uninitialized uninitialized;

/// An element of a layout: an array whose parts live on the ranks of a communicator. This object
/// holds the part of this rank, in row-major order. Copies are deep. Arithmetic is in
/// arithmetic.hpp, sums and norms are in reductions.hpp.
template <Scalar T>
class DistributedArray {
 public:
  /// Filled with zeros.
  explicit DistributedArray(Layout layout);
  DistributedArray(Layout layout, Uninitialized);
  /// Works on the caller's memory: `count` elements on the layout's device, which must outlive it.
  static DistributedArray view(Layout layout, T* data, index_t count);
  /// A view of nothing yet: rebind() comes before any use.
  static DistributedArray unbound_view(Layout layout);
  /// Lets a view work on other memory. Allocates nothing.
  void rebind(T* data);
  /// Takes this rank's part of a global array that every rank has. No messages.
  static DistributedArray from_global(Layout layout, std::span<const T> values);
  /// Distributes an array that `root` has; other ranks pass nothing. One all_to_all (a broadcast,
  /// if it has no axes).
  static DistributedArray from_root(Layout layout, std::span<const T> values, int root);

  DistributedArray(const DistributedArray& other);
  DistributedArray(DistributedArray&& other) noexcept;
  /// Into a view, and so into a part of a stack, this copies the elements; layouts must be equal.
  DistributedArray& operator=(const DistributedArray& other);
  // NOLINTNEXTLINE(performance-noexcept-move-constructor): a view refuses other layouts
  DistributedArray& operator=(DistributedArray&& other);
  ~DistributedArray() = default;

  // An array that has been moved from can be assigned to, and has local_count() 0; all else throws.

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

  /// This rank's elements: on the device, and, if the host may touch them, as a span and as a grid.
  index_t local_count() const { return count_; }
  T* data() {
    if (data_ == nullptr) [[unlikely]]
      require_memory();
    return data_;
  }
  const T* data() const { return const_cast<DistributedArray*>(this)->data(); }
  std::span<T> local();
  std::span<const T> local() const;
  LocalView<T> view() { return {local().data(), local_shape()}; }
  LocalView<const T> view() const { return {local().data(), local_shape()}; }
  /// The parts of a stack: views of this array's memory.
  DistributedArray& part(int index);
  const DistributedArray& part(int index) const;

  /// This rank's elements copied to the host, and from it.
  std::vector<T> to_host() const;
  void from_host(std::span<const T> values);

  void fill(T value);
  /// x[at] = f(at) for the global index of every element. On a GPU, by the GPU if nvcc compiles the
  /// program and f is a lambda marked __host__ __device__; else the host computes the values.
  template <class F>
    requires std::invocable<F&, const Index&>
  void fill(F f);

  DistributedArray zeros_like() const { return DistributedArray(layout()); }
  DistributedArray copy() const { return *this; }
  /// The same elements in another layout of the same shape: one all_to_all, or none.
  DistributedArray redistribute(const Layout& to) const;
  /// The same elements in row-major order under another shape, cut along its first axis. No message
  /// if the cuts fall between rows of the new shape.
  DistributedArray reshape(const Shape& to) const;
  /// The global array in row-major order on one rank (others get nothing), or on all.
  std::vector<T> gather(int root) const;
  std::vector<T> all_gather() const;

 private:
  struct ViewOf {
    T* data;
  };
  DistributedArray(Layout layout, ViewOf memory);
  void make_parts();
  /// Throws if elements exist but no memory is bound.
  void require_memory() const;

  Layout layout_;
  Buffer<T> memory_;  // empty for a view
  T* data_ = nullptr;
  index_t count_ = 0;
  bool is_view_ = false;
  std::vector<DistributedArray> parts_;
};

namespace detail {
/// A value that a program computes, as an element: narrowed if need be, since it says so.
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
void DistributedArray<T>::fill(F f) {
  const Box& box = layout().box();
#if defined(__CUDACC__)
  if constexpr (detail::runs_on_gpu<F>) {
    if (device().kind == DeviceKind::cuda) {
      detail::fill_on_gpu(device(), box, count_, data(), f);
      return;
    }
  }
#endif
  // Elsewhere on a device, values go there piece by piece.
  constexpr index_t chunk = 1 << 18;
  const bool here = device().host_accessible();
  std::vector<T> staged(static_cast<std::size_t>(here ? 0 : std::min(count_, chunk)));
  T* const elements = data();
  Index at = box.offset;
  for (index_t first = 0; first < count_; first += chunk) {
    const index_t n = std::min(chunk, count_ - first);
    T* values = here ? elements + first : staged.data();
    for (index_t i = 0; i < n; ++i) {
      values[i] = detail::element<T>(f(static_cast<const Index&>(at)));
      for (int axis = at.ndim() - 1; axis >= 0; --axis) {
        if (++at[axis] < box.end(axis)) break;
        at[axis] = box.offset[axis];
      }
    }
    if (!here)
      copy_bytes(elements + first, device(), values, Device::cpu(),
                 sizeof(T) * static_cast<std::size_t>(n));
  }
}

}  // namespace weft
