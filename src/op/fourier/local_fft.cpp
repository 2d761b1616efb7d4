#include "op/fourier/local_fft.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/axis_extents.hpp"
#include "op/axis_layout.hpp"
#include "op/fourier/fourier_plan.hpp"
#include "op/fourier/local_fft_kernels.hpp"
#include "op/fourier/transform_into.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace weft::detail {
namespace {

template <Scalar X>
std::unique_ptr<FourierPlan<X>> plan_of(const Layout& layout, const std::vector<int>& axes,
                                        FftPlanning planning) {
  if (layout.local_count() == 0) return nullptr;
  return make_fourier_plan<X>(layout.device(), layout.box().shape, axes, planning);
}

/// 5 n log2(n) per transform, as usually counted.
double fft_flops(const Layout& layout, index_t n) {
  return 5 * static_cast<double>(layout.local_count()) * std::log2(static_cast<double>(n));
}

template <Scalar C>
class LocalFft final : public OperatorNode<C> {
 public:
  LocalFft(const Layout& layout, const std::vector<int>& axes, FftPlanning planning)
      : OperatorNode<C>(fmt::format("fft of axes ({})", fmt::join(axes, ", ")), layout, layout),
        plan_(plan_of<C>(layout, axes, planning)),
        spare_(layout, uninitialized) {
    for (const int axis : axes) length_ *= layout.shape()[axis];
  }

  void forward(const ConstArrayView<C>& x, const ArrayView<C>& y, Update<C> update) const override {
    if (!plan_) return;
    transform_into(y, spare_, update, [&](const ArrayView<C>& to) {
      dispatch(to.device(), [&](auto) { plan_->forward(x.data(), to.data()); });
    });
  }
  void adjoint(const ConstArrayView<C>& y, const ArrayView<C>& x, Update<C> update) const override {
    if (!plan_) return;
    transform_into(x, spare_, update, [&](const ArrayView<C>& to) {
      dispatch(to.device(), [&](auto) { plan_->backward(y.data(), to.data()); });
    });
  }
  Cost cost() const override {
    return {.flops = fft_flops(this->domain(), length_),
            .bytes = 2.0 * sizeof(C) * static_cast<double>(this->domain().local_count())};
  }

 private:
  std::unique_ptr<FourierPlan<C>> plan_;
  mutable DistributedArray<C> spare_;
  index_t length_ = 1;
};

template <Scalar F>
class LocalRealFft final : public OperatorNode<F, std::complex<F>> {
  using C = std::complex<F>;

 public:
  LocalRealFft(const Layout& domain, const Layout& range, int axis, FftPlanning planning)
      : OperatorNode<F, C>(fmt::format("real fft of axis {}", axis), domain, range),
        extents_(domain.box().shape, axis),
        plan_(plan_of<F>(domain, {axis}, planning)),
        half_spectrum_(range, uninitialized),
        spare_(domain, uninitialized) {}

  void forward(const ConstArrayView<F>& x, const ArrayView<C>& y, Update<C> update) const override {
    if (!plan_) return;
    dispatch(y.device(), [&](auto device) {
      plan_->forward(x.data(), half_spectrum_.data());
      kernels::scale_half_spectrum(device, extents_.outer, extents_.n, extents_.inner,
                                   kernel_value(update.alpha), std::numbers::sqrt2_v<F>,
                                   kernel_cast(half_spectrum_.data()), kernel_value(update.beta),
                                   kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<C>& y, const ArrayView<F>& x, Update<F> update) const override {
    if (!plan_) return;
    // The backward transform adds the negative frequencies: sqrt(2) / 2 for each of the two.
    dispatch(x.device(), [&](auto device) {
      kernels::scale_hermitian_spectrum(device, extents_.outer, extents_.n, extents_.inner,
                                        std::numbers::sqrt2_v<F> / 2, kernel_cast(y.data()),
                                        kernel_cast(half_spectrum_.data()));
    });
    transform_into(x, spare_, update, [&](const ArrayView<F>& to) {
      dispatch(to.device(), [&](auto) { plan_->backward(half_spectrum_.data(), to.data()); });
    });
  }
  Cost cost() const override {
    return {.flops = fft_flops(this->domain(), extents_.n) / 2,
            .bytes = static_cast<double>(sizeof(F)) *
                     static_cast<double>(this->domain().local_count() +
                                         6 * this->range().local_count())};
  }

 private:
  AxisExtents extents_;
  std::unique_ptr<FourierPlan<F>> plan_;
  mutable DistributedArray<C> half_spectrum_;
  mutable DistributedArray<F> spare_;
};

}  // namespace

template <Scalar C>
LinearOperator<C> local_fft(const Layout& layout, const std::vector<int>& axes,
                            FftPlanning planning) {
  return make_operator<LocalFft<C>>(layout, axes, planning);
}

template <Scalar F>
LinearOperator<F, Spectrum<F>> local_real_fft(const Layout& layout, int axis,
                                              FftPlanning planning) {
  const Layout range = resize_axis(layout, axis, layout.shape()[axis] / 2 + 1);
  return make_operator<LocalRealFft<F>>(layout, range, axis, planning);
}

#define INSTANTIATE(F)                                                 \
  template LinearOperator<std::complex<F>> local_fft<std::complex<F>>( \
      const Layout&, const std::vector<int>&, FftPlanning);            \
  template LinearOperator<F, std::complex<F>> local_real_fft<F>(const Layout&, int, FftPlanning);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::detail
