#include <weft/op/basic/transpose_axes.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/redistribute.hpp>

#include "array/box_kernels.hpp"
#include "array/plan_agreement.hpp"
#include "array/strides.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

template <Scalar T>
class TransposeAxes final : public OperatorNode<T> {
 public:
  TransposeAxes(const Layout& domain, const Layout& range, const std::vector<int>& axes)
      : OperatorNode<T>(fmt::format("transpose to axes ({})", fmt::join(axes, ", ")), domain,
                        range),
        shape_(range.box().shape),
        range_strides_(detail::strides_of(shape_)),
        domain_strides_(range_strides_) {
    const Index strides = detail::strides_of(domain.box().shape);
    for (int axis = 0; axis < shape_.ndim(); ++axis) {
      domain_strides_[axis] = strides[axes[static_cast<std::size_t>(axis)]];
    }
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    copy_permuted(x, domain_strides_, y, range_strides_, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    copy_permuted(y, range_strides_, x, domain_strides_, update);
  }
  Cost cost() const override {
    return {.bytes = 2.0 * sizeof(T) * static_cast<double>(shape_.count())};
  }
  std::optional<LinearOperator<T>> normal() const override { return identity<T>(this->domain()); }

 private:
  void copy_permuted(const ConstArrayView<T>& from, const Index& from_strides,
                     const ArrayView<T>& to, const Index& to_strides, Update<T> update) const {
    dispatch(to.device(), [&](auto device) {
      kernels::axpby_box(device, shape_, kernel_value(update.alpha), kernel_cast(from.data()),
                         from_strides, kernel_value(update.beta), kernel_cast(to.data()),
                         to_strides);
    });
  }

  Shape shape_;  // of this rank's part of the range
  Index range_strides_;
  Index domain_strides_;  // in order of the range's axes
};

}  // namespace

template <Scalar T>
LinearOperator<T> transpose_axes(const Layout& layout, const std::vector<int>& axes,
                                 const TransposeAxesOptions& options) {
  std::vector<int> order;
  for (const int axis : axes) {
    order.push_back(normalize_axis(axis, layout.ndim(), "transpose_axes"));
  }
  const Layout range = permute_axes(layout, order);
  LinearOperator<T> transposed = std::is_sorted(order.begin(), order.end())
                                     ? identity<T>(layout)
                                     : make_operator<TransposeAxes<T>>(layout, range, order);
  const Layout& wanted = options.range ? *options.range : range;
  detail::agree_on_plan("transpose_axes", {&range, &wanted}, dtype_of<T>);
  if (wanted == range) return transposed;
  return redistribute<T>(range, wanted) * transposed;
}

#define INSTANTIATE(T)                                                                 \
  template LinearOperator<T> transpose_axes<T>(const Layout&, const std::vector<int>&, \
                                               const TransposeAxesOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
