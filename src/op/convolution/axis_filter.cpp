#include "op/convolution/axis_filter.hpp"

#include <weft/array/halo_exchange.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/axis_extents.hpp"
#include "op/axis_layout.hpp"
#include "op/convolution/axis_filter_kernels.hpp"
#include "op/to_device.hpp"

#include <optional>
#include <utility>

namespace weft::detail {
namespace {

/// Forward or adjoint: the rows of a banded matrix and the halo exchange that they need.
template <Scalar T>
class FilterPass {
 public:
  FilterPass(const Layout& layout, int axis, const FilterRows<T>& rows)
      : axis_(axis),
        extents_(layout.box().shape, axis),
        taps_(rows.taps),
        first_(rows.first),
        vary_(rows.vary),
        coefficients_(to_device<T>(rows.coefficients, layout.device())) {
    if (is_undistributed(layout, axis)) return;
    std::vector<AxisPadding> widths(static_cast<std::size_t>(layout.ndim()));
    widths[static_cast<std::size_t>(axis)] = {first_, taps_ - 1 - first_};
    exchange_.emplace(layout, widths);
  }

  void apply(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) {
    kernels::FilterInput<KernelType<T>> input{kernel_cast(x.data()), nullptr, nullptr, 0, 0};
    if (exchange_) {
      exchange_->run(x);
      const HaloExchange<T>& halo = *exchange_;
      input.before = halo.width(axis_).before;
      input.after = halo.width(axis_).after;
      if (input.before > 0) input.ghosts_before = kernel_cast(halo.ghosts(axis_, Side::before));
      if (input.after > 0) input.ghosts_after = kernel_cast(halo.ghosts(axis_, Side::after));
    }
    dispatch(y.device(), [&](auto device) {
      kernels::apply_axis_filter(device, extents_.outer, extents_.n, extents_.inner, taps_, first_,
                                 kernel_cast(std::as_const(coefficients_).data()), vary_,
                                 kernel_value(update.alpha), input, kernel_value(update.beta),
                                 kernel_cast(y.data()));
    });
  }
  Cost cost(const Layout& layout) const {
    const auto elements = static_cast<double>(layout.local_count());
    return {.flops = elements * static_cast<double>(taps_) * (is_complex<T> ? 8 : 2),
            .bytes = sizeof(T) * (2 * elements + static_cast<double>(coefficients_.size())),
            .messages = exchange_ ? static_cast<double>(exchange_->message_count()) : 0};
  }

 private:
  int axis_;
  AxisExtents extents_;
  index_t taps_;
  index_t first_;
  bool vary_;
  Buffer<T> coefficients_;
  std::optional<HaloExchange<T>> exchange_;
};

template <Scalar T>
class AxisFilter final : public OperatorNode<T> {
 public:
  AxisFilter(std::string name, const Layout& layout, int axis, const FilterRows<T>& rows,
             const FilterRows<T>& adjoint_rows)
      : OperatorNode<T>(std::move(name), layout, layout),
        forward_(layout, axis, rows),
        adjoint_(layout, axis, adjoint_rows) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    forward_.apply(x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    adjoint_.apply(y, x, update);
  }
  Cost cost() const override { return forward_.cost(this->domain()); }
  Cost adjoint_cost() const override { return adjoint_.cost(this->domain()); }

 private:
  mutable FilterPass<T> forward_;
  mutable FilterPass<T> adjoint_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> axis_filter(std::string name, const Layout& layout, int axis,
                              const FilterRows<T>& rows, const FilterRows<T>& adjoint_rows) {
  return make_operator<AxisFilter<T>>(std::move(name), layout, axis, rows, adjoint_rows);
}

#define INSTANTIATE(T)                                                                             \
  template LinearOperator<T> axis_filter<T>(std::string, const Layout&, int, const FilterRows<T>&, \
                                            const FilterRows<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
