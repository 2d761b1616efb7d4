#include <weft/op/basic/pad.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/box_kernels.hpp"
#include "array/strides.hpp"

namespace weft {
namespace {

template <Scalar T>
class Pad final : public OperatorNode<T> {
 public:
  Pad(const Layout& domain, const Layout& range, const std::vector<AxisPadding>& widths)
      : OperatorNode<T>("pad", domain, range),
        inside_{domain.box().offset, domain.box().shape},
        strides_(detail::strides_of(range.box().shape)) {
    if (range.local_count() == 0) return;
    // Slabs of zeros before and after the array along axis 0, then along axis 1 within the rest,
    // and so on.
    Box rest{Index::filled(range.ndim(), 0), range.box().shape};
    for (int axis = 0; axis < range.ndim(); ++axis) {
      inside_.offset[axis] +=
          widths[static_cast<std::size_t>(axis)].before - range.box().offset[axis];
      Box before = rest;
      before.shape = rest.shape.with(axis, inside_.offset[axis]);
      Box after = rest;
      after.offset[axis] = inside_.end(axis);
      after.shape = rest.shape.with(axis, rest.end(axis) - inside_.end(axis));
      zeros_.push_back(before);
      zeros_.push_back(after);
      rest.offset[axis] = inside_.offset[axis];
      rest.shape = rest.shape.with(axis, inside_.shape[axis]);
    }
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    if (y.local_count() == 0) return;
    dispatch(y.device(), [&](auto device) {
      for (const Box& zero : zeros_) {
        kernels::scale_box(device, zero.shape, kernel_value(update.beta),
                           kernel_cast(y.data()) + detail::offset_at(strides_, zero.offset),
                           strides_);
      }
      kernels::axpby_box(device, inside_.shape, kernel_value(update.alpha), kernel_cast(x.data()),
                         detail::strides_of(inside_.shape), kernel_value(update.beta),
                         kernel_cast(y.data()) + detail::offset_at(strides_, inside_.offset),
                         strides_);
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    if (x.local_count() == 0) return;
    dispatch(x.device(), [&](auto device) {
      kernels::axpby_box(device, inside_.shape, kernel_value(update.alpha),
                         kernel_cast(y.data()) + detail::offset_at(strides_, inside_.offset),
                         strides_, kernel_value(update.beta), kernel_cast(x.data()),
                         detail::strides_of(inside_.shape));
    });
  }
  Cost cost() const override {
    const auto elements = this->domain().local_count() + this->range().local_count();
    return {.bytes = sizeof(T) * static_cast<double>(elements)};
  }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }

 private:
  Box inside_;  // this rank's part of the domain, in coordinates of its part of the range
  Index strides_;
  std::vector<Box> zeros_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> pad(const Layout& layout, const std::vector<AxisPadding>& widths) {
  require(static_cast<int>(widths.size()) == layout.ndim(),
          "pad: got {} widths for an array of shape {}; pass one per axis", widths.size(),
          to_string(layout.shape()));
  Layout range = layout;
  for (int axis = 0; axis < layout.ndim(); ++axis) {
    const AxisPadding width = widths[static_cast<std::size_t>(axis)];
    require(width.before >= 0 && width.after >= 0,
            "pad: widths along axis {} must not be negative, got {} and {}", axis, width.before,
            width.after);
    const index_t n = layout.shape()[axis];
    index_t extent = n;
    require(!__builtin_add_overflow(extent, width.before, &extent) &&
                !__builtin_add_overflow(extent, width.after, &extent),
            "pad: widths {} and {} along axis {} of {} overflow the 64-bit number of elements",
            width.before, width.after, axis, to_string(layout.shape()));
    range = recut(range, axis, [&](std::span<const index_t> splits) {
      std::vector<index_t> padded;
      for (const index_t split : splits) {
        padded.push_back(split == 0 ? 0 : split + width.before + (split == n ? width.after : 0));
      }
      padded.back() = extent;
      return padded;
    });
  }
  if (range == layout) return identity<T>(layout);
  return make_operator<Pad<T>>(layout, range, widths);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> pad<T>(const Layout&, const std::vector<AxisPadding>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
