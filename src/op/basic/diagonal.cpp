#include <weft/op/basic/diagonal.hpp>

#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/axis_extents.hpp"
#include "op/basic/diagonal_kernels.hpp"
#include "op/to_device.hpp"

namespace weft {
namespace {

template <Scalar T>
class Diagonal final : public OperatorNode<T> {
 public:
  /// `extents` is the index space [outer, n, inner] of this rank's part, `d` its n factors.
  Diagonal(std::string name, const Layout& layout, const detail::AxisExtents& extents, Buffer<T> d)
      : OperatorNode<T>(std::move(name), layout, layout), extents_(extents), d_(std::move(d)) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    dispatch(y.device(), [&](auto device) {
      kernels::multiply_along(device, extents_.outer, extents_.n, extents_.inner,
                              kernel_value(update.alpha), kernel_cast(d_.data()),
                              kernel_cast(x.data()), kernel_value(update.beta),
                              kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    dispatch(x.device(), [&](auto device) {
      kernels::multiply_conj_along(device, extents_.outer, extents_.n, extents_.inner,
                                   kernel_value(update.alpha), kernel_cast(d_.data()),
                                   kernel_cast(y.data()), kernel_value(update.beta),
                                   kernel_cast(x.data()));
    });
  }
  Cost cost() const override {
    const auto elements = static_cast<double>(this->domain().local_count());
    return {.flops = elements * (is_complex<T> ? 6 : 1),
            .bytes = (2 * elements + static_cast<double>(d_.size())) * sizeof(T)};
  }
  std::optional<LinearOperator<T>> normal() const override {
    Buffer<T> squares(d_.size(), d_.device());
    dispatch(d_.device(), [&](auto device) {
      kernels::multiply_conj_along(device, 1, d_.size(), 1, kernel_value(T{1}),
                                   kernel_cast(d_.data()), kernel_cast(d_.data()),
                                   kernel_value(T{}), kernel_cast(squares.data()));
    });
    return make_operator<Diagonal>(this->name() + " squared", this->domain(), extents_,
                                   std::move(squares));
  }

 private:
  detail::AxisExtents extents_;
  Buffer<T> d_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> diagonal(const ConstArrayView<T>& d) {
  Buffer<T> mine(d.local_count(), d.device());
  copy_bytes(mine.data(), d.device(), d.data(), d.device(),
             static_cast<std::size_t>(mine.size()) * sizeof(T));
  const detail::AxisExtents extents(Shape{d.local_count()}, 0);
  return make_operator<Diagonal<T>>("diagonal", d.layout(), extents, std::move(mine));
}

template <Scalar T>
LinearOperator<T> diagonal(const Layout& layout, std::type_identity_t<std::span<const T>> d,
                           const DiagonalOptions& options) {
  const int axis = normalize_axis(options.axis, layout.ndim(), "diagonal");
  require(static_cast<index_t>(d.size()) == layout.shape()[axis],
          "diagonal: got {} numbers for axis {} of {}, which has {} elements", d.size(), axis,
          to_string(layout.shape()), layout.shape()[axis]);
  const Box& box = layout.box();
  Buffer<T> mine = detail::to_device<T>(d.subspan(static_cast<std::size_t>(box.offset[axis]),
                                                  static_cast<std::size_t>(box.shape[axis])),
                                        layout.device());
  return make_operator<Diagonal<T>>(fmt::format("diagonal along axis {}", axis), layout,
                                    detail::AxisExtents(box.shape, axis), std::move(mine));
}

#define INSTANTIATE(T)                                                                            \
  template LinearOperator<T> diagonal<T>(const ConstArrayView<T>&);                               \
  template LinearOperator<T> diagonal<T>(const Layout&, std::type_identity_t<std::span<const T>>, \
                                         const DiagonalOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
