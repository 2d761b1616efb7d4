#include <weft/op/basic/restriction.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/axis_extents.hpp"
#include "op/basic/restriction_kernels.hpp"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

Buffer<index_t> on_device(const std::vector<index_t>& values, Device device) {
  Buffer<index_t> buffer(static_cast<index_t>(values.size()), device);
  copy_bytes(buffer.data(), device, values.data(), Device::cpu(), values.size() * sizeof(index_t));
  return buffer;
}

template <Scalar T>
class Restriction final : public OperatorNode<T> {
 public:
  /// `positions` are those that this rank takes, counted from the beginning of its part.
  Restriction(const Layout& domain, const Layout& range, int axis,
              const std::vector<index_t>& positions)
      : OperatorNode<T>(fmt::format("restriction along axis {}", axis), domain, range),
        from_(domain.box().shape, axis),
        to_(range.box().shape, axis),
        positions_(on_device(positions, domain.device())) {
    // By position rather than by index, so that in the adjoint each element is written by one.
    std::vector<index_t> begins(static_cast<std::size_t>(from_.n) + 1);
    for (const index_t position : positions) ++begins[static_cast<std::size_t>(position) + 1];
    repeats_ = std::any_of(begins.begin(), begins.end(), [](index_t count) { return count > 1; });
    std::vector<index_t> sources;
    if (repeats_) {
      std::partial_sum(begins.begin(), begins.end(), begins.begin());
      begins_ = on_device(begins, domain.device());
      sources.resize(positions.size());
      std::iota(sources.begin(), sources.end(), index_t{0});
      std::stable_sort(sources.begin(), sources.end(), [&](index_t a, index_t b) {
        return positions[static_cast<std::size_t>(a)] < positions[static_cast<std::size_t>(b)];
      });
    } else {
      sources.resize(static_cast<std::size_t>(from_.n), -1);
      for (std::size_t i = 0; i < positions.size(); ++i) {
        sources[static_cast<std::size_t>(positions[i])] = static_cast<index_t>(i);
      }
    }
    sources_ = on_device(sources, domain.device());
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    dispatch(y.device(), [&](auto device) {
      kernels::take_along(device, to_.outer, to_.n, to_.inner, from_.n, positions_.data(),
                          kernel_value(update.alpha), kernel_cast(x.data()),
                          kernel_value(update.beta), kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    dispatch(x.device(), [&](auto device) {
      if (repeats_) {
        kernels::sum_sources_along(device, from_.outer, from_.n, from_.inner, to_.n, begins_.data(),
                                   sources_.data(), kernel_value(update.alpha),
                                   kernel_cast(y.data()), kernel_value(update.beta),
                                   kernel_cast(x.data()));
      } else {
        kernels::put_along(device, from_.outer, from_.n, from_.inner, to_.n, sources_.data(),
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
  detail::AxisExtents from_;
  detail::AxisExtents to_;
  Buffer<index_t> positions_;
  bool repeats_ = false;  // some position
  /// The index of each position, or -1; if positions repeat, all indices in ascending order of
  /// their positions, and where those of each position begin.
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
    require(index >= 0 && index < n, "restriction: index {} is outside of axis {} of {}", index,
            axis, to_string(layout.shape()));
  }
  const auto unsorted = std::is_sorted_until(indices.begin(), indices.end());
  if (layout.is_cut_anywhere(axis) && unsorted != indices.end()) {
    refuse(
        "restriction: index {} follows {}; they must ascend where the axis is cut, and axis {} "
        "of {} is. Redistribute first, or sort them",
        *unsorted, *(unsorted - 1), axis, to_string(layout));
  }
  const auto rank_of = [&](index_t position) -> index_t {
    return std::lower_bound(indices.begin(), indices.end(), position) - indices.begin();
  };
  const auto count = static_cast<index_t>(indices.size());
  const Layout range = recut(layout, axis, [&](std::span<const index_t> splits) {
    std::vector<index_t> kept(splits.size(), 0);
    for (std::size_t i = 1; i + 1 < splits.size(); ++i) kept[i] = rank_of(splits[i]);
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
