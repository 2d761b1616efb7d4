#include <weft/array/array_view.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/distributed_array.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/layout_queries.hpp"
#include "array/vector_kernels.hpp"

#include <utility>

namespace weft {
namespace {

template <class T>
std::size_t bytes_of(index_t count) {
  return static_cast<std::size_t>(count) * sizeof(T);
}

/// Returns the layout if `count` elements at `data` fit it.
Layout checked(Layout layout, const void* data, index_t count) {
  if (count != layout.local_count()) {
    refuse("ArrayView: {} elements given, but this rank has {} of {}", count, layout.local_count(),
           to_string(layout));
  }
  require(data != nullptr || count == 0, "ArrayView: no memory given");
  return layout;
}

void require_host_access(Device device) {
  if (device.host_accessible()) return;
  throw DeviceError("local: the elements are on " + to_string(device) +
                    ", where the host cannot access them; use to_host()");
}

}  // namespace

void detail::refuse_moved_from() { refuse("the array has been moved from"); }

template <Scalar T>
ConstArrayView<T>::ConstArrayView(Layout layout, const T* data, index_t count,
                                  std::shared_ptr<void> keep_alive)
    : ConstArrayView(Checked{}, checked(std::move(layout), data, count), data, count,
                     std::move(keep_alive)) {}

template <Scalar T>
std::span<const T> ConstArrayView<T>::local() const {
  require_host_access(device());
  return {data(), static_cast<std::size_t>(count_)};
}

template <Scalar T>
ConstArrayView<T> ConstArrayView<T>::part(int index) const {
  const Layout& part = layout().part(index);
  const T* first = data_ == nullptr ? nullptr : data_ + detail::part_offset(layout_, index);
  return ConstArrayView(Checked{}, part, first, part.local_count(), keep_alive_);
}

template <Scalar T>
std::vector<T> ConstArrayView<T>::to_host() const {
  std::vector<T> values(static_cast<std::size_t>(count_));
  copy_bytes(values.data(), Device::cpu(), data(), device(), bytes_of<T>(count_));
  return values;
}

template <Scalar T>
DistributedArray<T> ConstArrayView<T>::copy() const {
  return DistributedArray<T>(*this);
}

template <Scalar T>
DistributedArray<T> ConstArrayView<T>::zeros_like() const {
  return DistributedArray<T>(layout());
}

template <Scalar T>
DistributedArray<T> ConstArrayView<T>::redistribute(const Layout& to) const {
  DistributedArray<T> result(to, uninitialized);
  weft::redistribute(*this, result);
  return result;
}

template <Scalar T>
std::vector<T> ConstArrayView<T>::gather(int root) const {
  require(root >= 0 && root < comm().size(), "gather: root = {} is not one of the {} ranks", root,
          comm().size());
  if (shape().ndim() == 0) return comm().rank() == root ? to_host() : std::vector<T>();
  return redistribute(Layout::on_rank(comm(), shape(), root).on(device())).to_host();
}

template <Scalar T>
std::vector<T> ConstArrayView<T>::all_gather() const {
  return redistribute(Layout::replicated(comm(), shape()).on(device())).to_host();
}

template <Scalar T>
ArrayView<T>::ArrayView(Layout layout, T* data, index_t count, std::shared_ptr<void> keep_alive)
    : ArrayView(Checked{}, checked(std::move(layout), data, count), data, count,
                std::move(keep_alive)) {}

template <Scalar T>
std::span<T> ArrayView<T>::local() const {
  require_host_access(this->device());
  return {data(), static_cast<std::size_t>(this->count_)};
}

template <Scalar T>
ArrayView<T> ArrayView<T>::part(int index) const {
  const Layout& part = this->layout().part(index);
  T* first = writable_ == nullptr ? nullptr : writable_ + detail::part_offset(this->layout_, index);
  return ArrayView(Checked{}, part, first, part.local_count(), this->keep_alive_);
}

template <Scalar T>
void ArrayView<T>::from_host(std::span<const T> values) const {
  this->layout();
  require(static_cast<index_t>(values.size()) == this->count_,
          "from_host: {} values given, but this rank has {} elements", values.size(), this->count_);
  copy_bytes(data(), this->device(), values.data(), Device::cpu(), bytes_of<T>(this->count_));
}

template <Scalar T>
void ArrayView<T>::fill(T value) const {
  dispatch(this->device(), [&](auto device) {
    kernels::fill(device, this->count_, kernel_value(value), kernel_cast(data()));
  });
}

#define INSTANTIATE(T)              \
  template class ConstArrayView<T>; \
  template class ArrayView<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
