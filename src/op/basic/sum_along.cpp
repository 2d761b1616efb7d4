#include <weft/op/basic/sum_along.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/plan_agreement.hpp"
#include "array/strides.hpp"
#include "op/axis_extents.hpp"
#include "op/basic/sum_along_kernels.hpp"
#include "op/peers.hpp"
#include "op/scaling.hpp"

#include <fmt/core.h>

#include <optional>

namespace weft {
namespace {

template <Scalar T>
class SumAlong final : public OperatorNode<T> {
 public:
  SumAlong(const Layout& layout, int axis)
      : OperatorNode<T>(fmt::format("sum along axis {}", axis), layout, without_axis(layout, axis)),
        axis_(axis),
        extents_(layout.box().shape, axis),
        axis_comm_(layout.line_comm(axis)) {
    if (detail::has_peers(axis_comm_)) local_sums_.emplace(this->range(), uninitialized);
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    if (!local_sums_) return sum_lines(x, y, update);
    sum_lines(x, *local_sums_, {});
    axis_comm_.allreduce(
        BufferRef(local_sums_->data(), local_sums_->local_count(), local_sums_->device()));
    detail::apply_update(*local_sums_, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    const Index strides = detail::strides_of(x.local_shape());
    const Index reduced = detail::strides_of(y.local_shape());
    Index broadcast_strides = strides;
    for (int axis = 0; axis < broadcast_strides.ndim(); ++axis) {
      broadcast_strides[axis] = axis == axis_ ? 0 : reduced[axis < axis_ ? axis : axis - 1];
    }
    dispatch(x.device(), [&](auto device) {
      kernels::axpby_box(device, x.local_shape(), kernel_value(update.alpha), kernel_cast(y.data()),
                         broadcast_strides, kernel_value(update.beta), kernel_cast(x.data()),
                         strides);
    });
  }
  Cost cost() const override {
    const auto in = static_cast<double>(this->domain().local_count());
    const auto out = static_cast<double>(this->range().local_count());
    return {.flops = in * (is_complex<T> ? 2 : 1),
            .bytes = (in + out) * sizeof(T),
            .messages = local_sums_ ? 1.0 : 0.0};
  }
  Cost adjoint_cost() const override { return {.bytes = cost().bytes}; }

 private:
  void sum_lines(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const {
    dispatch(y.device(), [&](auto device) {
      kernels::sum_lines(device, extents_.outer, extents_.n, extents_.inner,
                         kernel_value(update.alpha), kernel_cast(x.data()),
                         kernel_value(update.beta), kernel_cast(y.data()));
    });
  }

  int axis_;
  detail::AxisExtents extents_;
  Comm axis_comm_;
  mutable std::optional<DistributedArray<T>> local_sums_;  // if the axis is distributed
};

}  // namespace

template <Scalar T>
LinearOperator<T> sum_along(const Layout& layout, const SumAlongOptions& options) {
  detail::agree_on_plan("sum_along", {&layout}, dtype_of<T>, fmt::format("axis {}", options.axis));
  return make_operator<SumAlong<T>>(layout,
                                    normalize_axis(options.axis, layout.ndim(), "sum_along"));
}

#define INSTANTIATE(T) \
  template LinearOperator<T> sum_along<T>(const Layout&, const SumAlongOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
