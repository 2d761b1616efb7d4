#include <weft/array/reshape.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "array/reshape_plan.hpp"

#include <utility>
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

/// The layout of a reshaped array, cut along its first axis: between the same elements if they are
/// at the ends of rows, and evenly otherwise.
Layout reshaped_layout(const Layout& from, const Shape& to) {
  if (from.is_replicated()) return replicated_like(from, to);
  require(to.ndim() > 0,
          "reshape: an array without axes cannot be cut; the layout must be replicated");
  require(!from.is_within_groups(),
          "reshape: {} is cut within groups of ranks, which is not supported; redistribute() it to "
          "a layout of all ranks first",
          to_string(from));
  std::vector<index_t> splits = flat_splits(from);
  if (splits.empty()) splits = flat_splits(Layout::scatter(from.comm(), from.shape()));

  const index_t row = to.count(1, to.ndim());
  std::vector<index_t> extents;
  for (std::size_t i = 1; i < splits.size() && row > 0; ++i) {
    if (splits[i] % row != 0) break;
    extents.push_back((splits[i] - splits[i - 1]) / row);
  }
  const bool is_aligned = extents.size() + 1 == splits.size();
  return (is_aligned ? Layout::scatter(from.comm(), to, 0, extents)
                     : Layout::scatter(from.comm(), to))
      .on(from.device());
}

/// The distinct steps by which a box is traversed in the row-major order of the global array, from
/// the slowest to the fastest, with the number of elements of each. Two boxes have equal traversals
/// if they contain elements at the same positions of that order.
struct Traversal {
  index_t count = 0;
  index_t first = 0;
  std::vector<std::pair<index_t, index_t>> steps = {};  // count and step
  friend bool operator==(const Traversal&, const Traversal&) = default;
};

Traversal traversal(const Box& box, const Shape& shape) {
  Traversal result;
  result.count = box.shape.count();
  if (result.count == 0) return result;
  result.first = linear(shape, box.offset);
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const index_t count = box.shape[axis];
    const index_t step = shape.count(axis + 1, shape.ndim());
    if (count == 1) continue;
    const bool continues = !result.steps.empty() && result.steps.back().second == count * step;
    if (continues) {
      result.steps.back() = {result.steps.back().first * count, step};
    } else {
      result.steps.emplace_back(count, step);
    }
  }
  return result;
}

/// y = the elements of x in row-major order, where some of them move.
template <Scalar T>
void run_reshape(const ConstArrayView<T>& x, const detail::Output<T>& y) {
  detail::agree_on_plan("reshape", {&x.layout(), &y.layout()}, dtype_of<T>);
  detail::reshape_plan<T>(x.layout(), y.layout()).run(x, y, T{1}, T{});
}

void require_same_comm(const char* who, const Layout& a, const Layout& b) {
  require(a.comm() == b.comm(), "{}: the layouts are on different communicators", who);
}

/// A handle that keeps the memory of a view alive, as far as the view does.
template <class View>
std::shared_ptr<void> handle_of(const View& x) {
  return std::make_shared<View>(x);
}

}  // namespace

void detail::agree_on_reshape(const Layout& from, const Layout& to, DType dtype) {
  require_same_comm("reshape", from, to);
  agree_on_plan("reshape", {&from, &to}, dtype);
  check_reshape(from, to);
}

void detail::check_reshape(const Layout& from, const Layout& to) {
  require_same_comm("reshape", from, to);
  require(!from.is_stack() && !to.is_stack(),
          "reshape: from {} to {}; the elements of a stack have no order. Reshape its parts",
          to_string(from), to_string(to));
  require(from.device() == to.device(),
          "reshape: from {} to {}; both layouts must be on one device", to_string(from.device()),
          to_string(to.device()));
  require(from.count() == to.count(), "reshape: {} has {} elements, but {} has {}",
          to_string(from.shape()), from.count(), to_string(to.shape()), to.count());
}

void detail::check_relabel(const Layout& from, const Layout& to) {
  require_same_comm("relabel", from, to);
  require(from.device() == to.device(),
          "relabel: from {} to {}; both layouts must be on one device", to_string(from.device()),
          to_string(to.device()));
  for (int rank = 0; rank < from.comm().size(); ++rank) {
    require(from.local_count(rank) == to.local_count(rank),
            "relabel: rank {} has {} elements of {}, but {} of {}", rank, from.local_count(rank),
            to_string(from), to.local_count(rank), to_string(to));
  }
}

template <Scalar T>
detail::FlatExchange<T> detail::reshape_plan(const Layout& from, const Layout& to) {
  return FlatExchange<T>(
      from, to, [&](int rank) { return flat_runs(from, rank); },
      [&](int rank) { return flat_runs(to, rank); });
}

bool reshapes_in_place(const Layout& from, const Layout& to) {
  detail::check_reshape(from, to);
  for (int rank = 0; rank < from.comm().size(); ++rank) {
    if (traversal(from.box(rank), from.shape()) != traversal(to.box(rank), to.shape())) {
      return false;
    }
  }
  return true;
}

template <Scalar T>
ConstArrayView<T> reshape(const ConstArrayView<T>& x, const Layout& to) {
  if (reshapes_in_place(x.layout(), to)) {
    return ConstArrayView<T>(to, x.data(), x.local_count(), handle_of(x));
  }
  DistributedArray<T> result(to, uninitialized);
  run_reshape(x, result);
  return result;
}

template <Scalar T>
ArrayView<T> reshape_in_place(const ArrayView<T>& x, const Layout& to) {
  require(reshapes_in_place(x.layout(), to),
          "reshape_in_place: from {} to {}, elements move within or between ranks; use reshape()",
          to_string(x.layout()), to_string(to));
  return ArrayView<T>(to, x.data(), x.local_count(), handle_of(x));
}

template <Scalar T>
ConstArrayView<T> relabel(const ConstArrayView<T>& x, const Layout& to) {
  detail::check_relabel(x.layout(), to);
  return ConstArrayView<T>(to, x.data(), x.local_count(), handle_of(x));
}

template <Scalar T>
ArrayView<T> relabel(const ArrayView<T>& x, const Layout& to) {
  detail::check_relabel(x.layout(), to);
  return ArrayView<T>(to, x.data(), x.local_count(), handle_of(x));
}

template <Scalar T>
DistributedArray<T> ConstArrayView<T>::reshape(const Shape& to) const {
  require(to.count() == shape().count(), "reshape: {} has {} elements, but {} has {}",
          to_string(shape()), shape().count(), to_string(to), to.count());
  const Layout target = reshaped_layout(layout(), to);
  DistributedArray<T> result(target, uninitialized);
  if (reshapes_in_place(layout(), target)) {
    weft::copy(ConstArrayView(target, data(), local_count()), result);
  } else {
    run_reshape(*this, result);
  }
  return result;
}

#define INSTANTIATE(T)                                                                    \
  template detail::FlatExchange<T> detail::reshape_plan<T>(const Layout&, const Layout&); \
  template ConstArrayView<T> reshape(const ConstArrayView<T>&, const Layout&);            \
  template ArrayView<T> reshape_in_place(const ArrayView<T>&, const Layout&);             \
  template ConstArrayView<T> relabel(const ConstArrayView<T>&, const Layout&);            \
  template ArrayView<T> relabel(const ArrayView<T>&, const Layout&);                      \
  template DistributedArray<T> ConstArrayView<T>::reshape(const Shape&) const;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
