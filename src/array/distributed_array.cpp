#include <weft/array/distributed_array.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/checks.hpp"
#include "array/strides.hpp"
#include "array/vector_kernels.hpp"
#include "core/debug_memory.hpp"

#include <utility>

namespace weft {
namespace {

std::size_t bytes_of(index_t count, std::size_t element) {
  return static_cast<std::size_t>(count) * element;
}

/// Where each rank's elements begin in the row-major order of the global array; empty if some
/// rank's are not one run of it.
std::vector<index_t> flat_splits(const Layout& layout) {
  const Shape& shape = layout.shape();
  int cut = 0;  // the axis that is; the first if none is
  int cuts = 0;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (!layout.is_cut(axis)) continue;
    cut = axis;
    ++cuts;
  }
  if (cuts > 1 || shape.count(0, cut) != 1) return {};
  std::vector<index_t> splits;
  for (const index_t split : layout.splits(cut)) {
    splits.push_back(split * shape.count(cut + 1, shape.ndim()));
  }
  return splits;
}

/// Memory for an array; without it, the error says which array it was for.
template <class T>
Buffer<T> allocate(const Layout& layout) {
  try {
    Buffer<T> memory(layout.local_count(), layout.device());
    if (layout.device().kind == DeviceKind::debug) {
      detail::debug_label(memory.data(), fmt::format("an array of {} {}", to_string(dtype_of<T>),
                                                     layout.describe()));
    }
    return memory;
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{}; for an array of {} with {} elements of type {} on rank {}",
                                  error.what(), layout.describe(), layout.local_count(),
                                  to_string(dtype_of<T>), layout.comm().rank()));
  }
}

std::vector<index_t> differences(const std::vector<index_t>& splits) {
  std::vector<index_t> extents;
  for (std::size_t i = 1; i < splits.size(); ++i) extents.push_back(splits[i] - splits[i - 1]);
  return extents;
}

}  // namespace

void detail::refuse_moved_from() { refuse("the array has been moved from"); }

template <Scalar T>
void DistributedArray<T>::require_memory() const {
  layout();
  require(count_ == 0, "the array is a view of nothing yet: call rebind() first");
}

template <Scalar T>
DistributedArray<T>::DistributedArray(Layout layout, ViewOf memory)
    : layout_(std::move(layout)),
      data_(memory.data),
      count_(layout_.local_count()),
      is_view_(true) {
  make_parts();
}

template <Scalar T>
void DistributedArray<T>::make_parts() {
  index_t offset = 0;
  for (int index = 0; index < layout_.part_count(); ++index) {
    const Layout& part = layout_.part(index);
    parts_.push_back(DistributedArray(part, ViewOf{data_ == nullptr ? nullptr : data_ + offset}));
    offset += part.local_count();
  }
}

template <Scalar T>
DistributedArray<T>::DistributedArray(Layout layout, Uninitialized)
    : layout_(std::move(layout)),
      memory_(allocate<T>(layout_)),
      data_(memory_.data()),
      count_(layout_.local_count()) {
  make_parts();
}

template <Scalar T>
DistributedArray<T>::DistributedArray(Layout layout)
    : DistributedArray(std::move(layout), uninitialized) {
  fill(T{});
}

template <Scalar T>
DistributedArray<T> DistributedArray<T>::view(Layout layout, T* data, index_t count) {
  if (count != layout.local_count()) {
    refuse("DistributedArray::view: {} elements given, but this rank has {} of {}", count,
           layout.local_count(), layout.describe());
  }
  require(data != nullptr || count == 0, "DistributedArray::view: no memory given");
  return DistributedArray(std::move(layout), ViewOf{data});
}

template <Scalar T>
DistributedArray<T> DistributedArray<T>::unbound_view(Layout layout) {
  return DistributedArray(std::move(layout), ViewOf{nullptr});
}

template <Scalar T>
void DistributedArray<T>::rebind(T* data) {
  layout();
  require(is_view_, "DistributedArray::rebind: this array is not a view, but owns its memory");
  data_ = data;
  for (DistributedArray& part : parts_) {
    part.rebind(data);
    if (part.count_ > 0) data += part.count_;
  }
}

template <Scalar T>
DistributedArray<T>::DistributedArray(const DistributedArray& other)
    : DistributedArray(other.layout(), uninitialized) {
  weft::copy(other, *this);
}

template <Scalar T>
DistributedArray<T>::DistributedArray(DistributedArray&& other) noexcept
    : layout_(std::move(other.layout_)),
      memory_(std::move(other.memory_)),
      data_(std::exchange(other.data_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      is_view_(std::exchange(other.is_view_, false)),
      parts_(std::move(other.parts_)) {}

template <Scalar T>
DistributedArray<T>& DistributedArray<T>::operator=(const DistributedArray& other) {
  // Into the same memory where it fits, so that nothing is allocated; and always into a view.
  if (is_view_ || layout_ == other.layout_) {
    weft::copy(other, *this);
  } else {
    *this = DistributedArray(other);
  }
  return *this;
}

template <Scalar T>
// NOLINTNEXTLINE(performance-noexcept-move-constructor)
DistributedArray<T>& DistributedArray<T>::operator=(DistributedArray&& other) {
  if (is_view_) {
    weft::copy(other, *this);
    return *this;
  }
  std::swap(layout_, other.layout_);
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(count_, other.count_);
  std::swap(is_view_, other.is_view_);
  std::swap(parts_, other.parts_);
  return *this;
}

template <Scalar T>
std::span<T> DistributedArray<T>::local() {
  if (!device().host_accessible()) {
    throw DeviceError("DistributedArray::local: the elements are on " + to_string(device()) +
                      ", where the host cannot reach them; use to_host()");
  }
  return {data(), static_cast<std::size_t>(count_)};
}

template <Scalar T>
std::span<const T> DistributedArray<T>::local() const {
  return const_cast<DistributedArray*>(this)->local();
}

template <Scalar T>
DistributedArray<T>& DistributedArray<T>::part(int index) {
  layout().part(index);  // complains if there is none
  return parts_[static_cast<std::size_t>(index)];
}

template <Scalar T>
const DistributedArray<T>& DistributedArray<T>::part(int index) const {
  return const_cast<DistributedArray*>(this)->part(index);
}

template <Scalar T>
std::vector<T> DistributedArray<T>::to_host() const {
  std::vector<T> values(static_cast<std::size_t>(count_));
  copy_bytes(values.data(), Device::cpu(), data(), device(), bytes_of(count_, sizeof(T)));
  return values;
}

template <Scalar T>
void DistributedArray<T>::from_host(std::span<const T> values) {
  layout();
  require(static_cast<index_t>(values.size()) == count_,
          "DistributedArray::from_host: {} values given, but this rank has {} elements",
          values.size(), count_);
  copy_bytes(data(), device(), values.data(), Device::cpu(), bytes_of(count_, sizeof(T)));
}

template <Scalar T>
void DistributedArray<T>::fill(T value) {
  dispatch(device(), [&](auto where) {
    kernels::fill(where, count_, kernel_value(value), kernel_cast(data()));
  });
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
          "DistributedArray::from_root: there is no rank {} among {} ranks", root, comm.size());
  const index_t expected = comm.rank() == root ? layout.count() : 0;
  // Only the root can tell whether it has the right number.
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

template <Scalar T>
DistributedArray<T> DistributedArray<T>::redistribute(const Layout& to) const {
  DistributedArray result(to, uninitialized);
  weft::redistribute(*this, result);
  return result;
}

template <Scalar T>
DistributedArray<T> DistributedArray<T>::reshape(const Shape& to) const {
  require(to.count() == shape().count(),
          "DistributedArray::reshape: {} has {} elements, but {} has {}", to_string(shape()),
          shape().count(), to_string(to), to.count());
  const auto reinterpreted = [](const DistributedArray& source, const Layout& layout) {
    DistributedArray result(layout, uninitialized);
    dispatch(layout.device(), [&](auto where) {
      kernels::copy(where, source.count_, kernel_cast(source.data()), kernel_cast(result.data()));
    });
    return result;
  };
  if (layout_.is_replicated()) return reinterpreted(*this, layout_.replicated_like(to));
  require(to.ndim() > 0, "DistributedArray::reshape: a single number cannot be cut");
  require(!layout_.is_within_groups(),
          "DistributedArray::reshape: not for layouts that are cut within groups; redistribute "
          "first");
  const std::vector<index_t> splits = flat_splits(layout_);
  if (splits.empty())
    return redistribute(Layout::scatter(comm(), shape()).on(device())).reshape(to);

  const index_t row = to.count(1, to.ndim());
  bool aligned = row > 0;
  for (const index_t split : splits) aligned = aligned && split % row == 0;
  if (aligned) {
    std::vector<index_t> extents = differences(splits);
    for (index_t& extent : extents) extent /= row;
    return reinterpreted(*this, Layout::scatter(comm(), to, 0, extents).on(device()));
  }
  // The cuts fall inside of rows: move them in the flat order first.
  const Shape flat{to.count()};
  const Layout target = Layout::scatter(comm(), to).on(device());
  std::vector<index_t> lengths;
  for (int rank = 0; rank < comm().size(); ++rank) lengths.push_back(target.local_count(rank));
  const Layout flat_from = Layout::scatter(comm(), flat, 0, differences(splits)).on(device());
  const Layout flat_to = Layout::scatter(comm(), flat, 0, lengths).on(device());
  return reinterpreted(reinterpreted(*this, flat_from).redistribute(flat_to), target);
}

template <Scalar T>
std::vector<T> DistributedArray<T>::gather(int root) const {
  require(root >= 0 && root < comm().size(),
          "DistributedArray::gather: there is no rank {} among {} ranks", root, comm().size());
  if (shape().ndim() == 0) return comm().rank() == root ? to_host() : std::vector<T>();
  return redistribute(Layout::on_rank(comm(), shape(), root).on(device())).to_host();
}

template <Scalar T>
std::vector<T> DistributedArray<T>::all_gather() const {
  return redistribute(Layout::replicated(comm(), shape()).on(device())).to_host();
}

#define INSTANTIATE(T) template class DistributedArray<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
