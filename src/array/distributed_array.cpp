#include <weft/array/distributed_array.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/strides.hpp"
#include "core/debug_memory.hpp"

#include <fmt/core.h>

#include <utility>

namespace weft {
namespace {

/// Allocates memory for an array. If there is not enough, the error names the array.
template <class T>
Buffer<T> allocate(const Layout& layout) {
  try {
    Buffer<T> memory(layout.local_count(), layout.device());
    if (layout.device().kind == DeviceKind::debug) {
      detail::debug_label(memory.data(), fmt::format("an array of {} {}", to_string(dtype_of<T>),
                                                     to_string(layout)));
    }
    return memory;
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{}; for an array of {} with {} elements of type {} on rank {}",
                                  error.what(), to_string(layout), layout.local_count(),
                                  to_string(dtype_of<T>), layout.comm().rank()));
  }
}

}  // namespace

template <Scalar T>
DistributedArray<T>::DistributedArray(Layout layout, Uninitialized)
    : ConstArrayView<T>(typename ConstArrayView<T>::Checked{}, std::move(layout), nullptr, 0),
      memory_(allocate<T>(this->layout_)) {
  this->data_ = memory_.data();
  this->count_ = memory_.size();
}

template <Scalar T>
DistributedArray<T>::DistributedArray(Layout layout)
    : DistributedArray(std::move(layout), uninitialized) {
  fill(T{});
}

template <Scalar T>
DistributedArray<T>::DistributedArray(const ConstArrayView<T>& other)
    : DistributedArray(other.layout(), uninitialized) {
  weft::copy(other, *this);
}

template <Scalar T>
DistributedArray<T>::DistributedArray(const DistributedArray& other)
    : DistributedArray(static_cast<const ConstArrayView<T>&>(other)) {}

template <Scalar T>
DistributedArray<T>::DistributedArray(DistributedArray&& other) noexcept
    : ConstArrayView<T>(typename ConstArrayView<T>::Checked{}, std::move(other.layout_),
                        std::exchange(other.data_, nullptr), std::exchange(other.count_, 0)),
      memory_(std::move(other.memory_)) {}

template <Scalar T>
DistributedArray<T>& DistributedArray<T>::operator=(const DistributedArray& other) {
  if (this->layout_ == other.layout_) {
    weft::copy(other, *this);
  } else {
    *this = DistributedArray(other);
  }
  return *this;
}

template <Scalar T>
DistributedArray<T>& DistributedArray<T>::operator=(DistributedArray&& other) noexcept {
  DistributedArray taken(std::move(other));  // leaves `other` empty, and releases the old memory
  std::swap(this->layout_, taken.layout_);
  std::swap(this->data_, taken.data_);
  std::swap(this->count_, taken.count_);
  std::swap(memory_, taken.memory_);
  return *this;
}

template <Scalar T>
DistributedArray<T> DistributedArray<T>::from_global(Layout layout, std::span<const T> values) {
  const Shape& shape = layout.shape();
  require(static_cast<index_t>(values.size()) == shape.count(),
          "DistributedArray::from_global: {} values given for an array of {}", values.size(),
          to_string(shape));
  const Box whole{Index::filled(shape.ndim(), 0), shape};
  const Box& mine = layout.box();
  std::vector<T> local(static_cast<std::size_t>(layout.local_count()));
  if (!local.empty()) {
    dispatch(Device::cpu(), [&](auto here) {
      kernels::copy_box(
          here, mine.shape, kernel_cast(values.data()) + detail::offset_in(whole, mine.offset),
          detail::strides_of(shape), kernel_cast(local.data()), detail::strides_of(mine.shape));
    });
  }
  DistributedArray array(std::move(layout), uninitialized);
  array.from_host(local);
  return array;
}

template <Scalar T>
DistributedArray<T> DistributedArray<T>::from_root(Layout layout, std::span<const T> values,
                                                   int root) {
  const Comm& comm = layout.comm();
  require(root >= 0 && root < comm.size(),
          "DistributedArray::from_root: root = {} is not one of the {} ranks", root, comm.size());
  const index_t expected = comm.rank() == root ? layout.count() : 0;
  // Only the root knows whether it has the right number.
  comm.agree(
      static_cast<index_t>(values.size()) == expected
          ? ""
          : fmt::format("DistributedArray::from_root: {} values given, {} expected on this rank",
                        values.size(), expected));
  if (layout.ndim() == 0) {
    T value = comm.rank() == root ? values[0] : T{};
    comm.broadcast(BufferRef(&value, 1), root);
    DistributedArray result(std::move(layout), uninitialized);
    result.fill(value);
    return result;
  }
  const Layout whole = Layout::on_rank(comm, layout.shape(), root).on(Device::cpu());
  DistributedArray source(whole, uninitialized);
  source.from_host(values);
  DistributedArray target(layout.on(Device::cpu()), uninitialized);
  weft::redistribute(source, target);
  DistributedArray result(std::move(layout), uninitialized);
  result.from_host(target.local());
  return result;
}

#define INSTANTIATE(T) template class DistributedArray<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
