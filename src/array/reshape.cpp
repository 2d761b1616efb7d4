#include <weft/array/array_view.hpp>

#include <weft/array/distributed_array.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/vector_kernels.hpp"

#include <vector>

namespace weft {
namespace {

/// Where each rank's elements begin in the row-major order of the global array; empty if some
/// rank's are not one run of it.
std::vector<index_t> flat_splits(const Layout& layout) {
  const Shape& shape = layout.shape();
  int cut = 0;  // the last axis that is cut
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

std::vector<index_t> differences(const std::vector<index_t>& splits) {
  std::vector<index_t> extents;
  for (std::size_t i = 1; i < splits.size(); ++i) extents.push_back(splits[i] - splits[i - 1]);
  return extents;
}

/// The elements of this rank, in the same order, in another layout.
template <Scalar T>
DistributedArray<T> reinterpreted(const ConstArrayView<T>& x, const Layout& layout) {
  DistributedArray<T> result(layout, uninitialized);
  dispatch(layout.device(), [&](auto device) {
    kernels::copy(device, x.local_count(), kernel_cast(x.data()), kernel_cast(result.data()));
  });
  return result;
}

}  // namespace

template <Scalar T>
DistributedArray<T> ConstArrayView<T>::reshape(const Shape& to) const {
  require(to.count() == shape().count(), "reshape: {} has {} elements, but {} has {}",
          to_string(shape()), shape().count(), to_string(to), to.count());
  if (layout().is_replicated()) return reinterpreted<T>(*this, replicated_like(layout(), to));
  require(to.ndim() > 0,
          "reshape: an array without axes cannot be cut; the layout must be replicated");
  require(!layout().is_within_groups(),
          "reshape: {} is cut within groups of ranks, which is not supported; redistribute() it to "
          "a layout of all ranks first",
          to_string(layout()));
  const std::vector<index_t> splits = flat_splits(layout());
  if (splits.empty())
    return redistribute(Layout::scatter(comm(), shape()).on(device())).reshape(to);

  const index_t row = to.count(1, to.ndim());
  bool aligned = row > 0;
  for (const index_t split : splits) aligned = aligned && split % row == 0;
  if (aligned) {
    std::vector<index_t> extents = differences(splits);
    for (index_t& extent : extents) extent /= row;
    return reinterpreted<T>(*this, Layout::scatter(comm(), to, 0, extents).on(device()));
  }
  // The cuts fall inside of rows: move them in the flat order first.
  const Shape flat{to.count()};
  const Layout target = Layout::scatter(comm(), to).on(device());
  std::vector<index_t> lengths;
  for (int rank = 0; rank < comm().size(); ++rank) lengths.push_back(target.local_count(rank));
  const Layout flat_from = Layout::scatter(comm(), flat, 0, differences(splits)).on(device());
  const Layout flat_to = Layout::scatter(comm(), flat, 0, lengths).on(device());
  return reinterpreted<T>(reinterpreted<T>(*this, flat_from).redistribute(flat_to), target);
}

#define INSTANTIATE(T) template DistributedArray<T> ConstArrayView<T>::reshape(const Shape&) const;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
