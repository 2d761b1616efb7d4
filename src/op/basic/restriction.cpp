#include <weft/op/basic/restriction.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/axis_extents.hpp"
#include "op/basic/restriction_kernels.hpp"
#include "op/to_device.hpp"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

template <Scalar T>
class Restriction final : public OperatorNode<T> {
 public:
  /// `positions` are the indices that lie in this rank's part, relative to its beginning.
  Restriction(const Layout& domain, const Layout& range, int axis,
              const std::vector<index_t>& positions)
      : OperatorNode<T>(fmt::format("restriction along axis {}", axis), domain, range),
        domain_extents_(domain.box().shape, axis),
        range_extents_(range.box().shape, axis),
        positions_(detail::to_device<index_t>(positions, domain.device())) {
    // Inverts the map from index to position, so that the adjoint writes each element once.
    std::vector<index_t> begins(static_cast<std::size_t>(domain_extents_.n) + 1);
    for (const index_t position : positions) ++begins[static_cast<std::size_t>(position) + 1];
    repeats_ = std::any_of(begins.begin(), begins.end(), [](index_t count) { return count > 1; });
    std::vector<index_t> sources;
    if (repeats_) {
      std::partial_sum(begins.begin(), begins.end(), begins.begin());
      begins_ = detail::to_device<index_t>(begins, domain.device());
      sources.resize(positions.size());
      std::iota(sources.begin(), sources.end(), index_t{0});
      std::stable_sort(sources.begin(), sources.end(), [&](index_t a, index_t b) {
        return positions[static_cast<std::size_t>(a)] < positions[static_cast<std::size_t>(b)];
      });
    } else {
      sources.resize(static_cast<std::size_t>(domain_extents_.n), -1);
      for (std::size_t i = 0; i < positions.size(); ++i) {
        sources[static_cast<std::size_t>(positions[i])] = static_cast<index_t>(i);
      }
    }
    sources_ = detail::to_device<index_t>(sources, domain.device());
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    dispatch(y.device(), [&](auto device) {
      kernels::gather_along(device, range_extents_.outer, range_extents_.n, range_extents_.inner,
                            domain_extents_.n, positions_.data(), kernel_value(update.alpha),
                            kernel_cast(x.data()), kernel_value(update.beta),
                            kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    dispatch(x.device(), [&](auto device) {
      if (repeats_) {
        kernels::scatter_add_along(
            device, domain_extents_.outer, domain_extents_.n, domain_extents_.inner,
            range_extents_.n, begins_.data(), sources_.data(), kernel_value(update.alpha),
            kernel_cast(y.data()), kernel_value(update.beta), kernel_cast(x.data()));
      } else {
        kernels::scatter_along(device, domain_extents_.outer, domain_extents_.n,
                               domain_extents_.inner, range_extents_.n, sources_.data(),
                               kernel_value(update.alpha), kernel_cast(y.data()),
                               kernel_value(update.beta), kernel_cast(x.data()));
      }
    });
  }
  Cost cost() const override {
    const auto elements = static_cast<double>(this->range().local_count());
    return {.bytes = 2 * elements * sizeof(T) +
                     static_cast<double>(positions_.size()) * sizeof(index_t)};
  }

 private:
  detail::AxisExtents domain_extents_;
  detail::AxisExtents range_extents_;
  Buffer<index_t> positions_;
  bool repeats_ = false;  // some position occurs more than once
  /// The index of each position, or -1. If positions repeat: all indices in order of their
  /// positions, where those of position p are [begins_[p], begins_[p + 1]).
  Buffer<index_t> sources_;
  Buffer<index_t> begins_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> restriction(const Layout& layout, std::span<const index_t> indices,
                              const RestrictionOptions& options) {
  const int axis = normalize_axis(options.axis, layout.ndim(), "restriction");
  const index_t n = layout.shape()[axis];
  for (const index_t index : indices) {
    require(index >= 0 && index < n, "restriction: index {} is out of range for axis {} of {}",
            index, axis, to_string(layout.shape()));
  }
  const auto unsorted = std::is_sorted_until(indices.begin(), indices.end());
  if (layout.is_cut_anywhere(axis) && unsorted != indices.end()) {
    refuse(
        "restriction: index {} follows {}, but indices must ascend along a distributed axis, and "
        "axis {} of {} is distributed. Sort them, or redistribute first",
        *unsorted, *(unsorted - 1), axis, to_string(layout));
  }
  const auto count_before = [&](index_t position) -> index_t {
    return std::lower_bound(indices.begin(), indices.end(), position) - indices.begin();
  };
  const auto count = static_cast<index_t>(indices.size());
  const Layout range = recut(layout, axis, [&](std::span<const index_t> splits) {
    std::vector<index_t> kept(splits.size(), 0);
    for (std::size_t i = 1; i + 1 < splits.size(); ++i) kept[i] = count_before(splits[i]);
    kept.back() = count;
    return kept;
  });
  const Box& box = layout.box();
  std::vector<index_t> positions;
  for (const index_t index : indices) {
    if (index >= box.offset[axis] && index < box.end(axis)) {
      positions.push_back(index - box.offset[axis]);
    }
  }
  return make_operator<Restriction<T>>(layout, range, axis, positions);
}

#define INSTANTIATE(T)                                                               \
  template LinearOperator<T> restriction<T>(const Layout&, std::span<const index_t>, \
                                            const RestrictionOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
