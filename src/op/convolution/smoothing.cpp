#include <weft/op/convolution/smoothing.hpp>

#include <weft/array/halo_exchange.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/convolution/convolve1d.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_extents.hpp"
#include "op/axis_layout.hpp"
#include "op/axis_options.hpp"
#include "op/convolution/moving_sum_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace weft {
namespace {

constexpr const char* smoothing_name = "smoothing";

/// The axes of the options, or the last `count` axes.
std::vector<int> axes_of(const SmoothingOptions& options, std::size_t count, int ndim) {
  if (!options.axes.empty()) return detail::distinct_axes(options.axes, ndim, smoothing_name);
  std::vector<int> last;
  for (int axis = ndim - static_cast<int>(count); axis < ndim; ++axis) last.push_back(axis);
  return last;
}

/// The moving average of 2 reach + 1 elements along one axis, scaled by 1 / length.
template <Scalar T>
class MovingAverage final : public OperatorNode<T> {
 public:
  MovingAverage(const Layout& layout, int axis, index_t reach, index_t length)
      : OperatorNode<T>(fmt::format("smoothing over {} along axis {}", length, axis), layout,
                        layout),
        axis_(axis),
        extents_(layout.box().shape, axis),
        reach_(reach),
        scale_(1 / static_cast<Real<T>>(length)) {
    if (detail::is_undistributed(layout, axis)) return;
    std::vector<AxisPadding> widths(static_cast<std::size_t>(layout.ndim()));
    widths[static_cast<std::size_t>(axis)] = {reach, reach};
    exchange_.emplace(layout, widths);
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    kernels::FilterInput<KernelType<T>> input{kernel_cast(x.data()), nullptr, nullptr, 0, 0};
    if (exchange_) {
      exchange_->run(x);
      const HaloExchange<T>& halo = *exchange_;
      input = {kernel_cast(x.data()), kernel_cast(halo.ghosts(axis_, Side::before)),
               kernel_cast(halo.ghosts(axis_, Side::after)), reach_, reach_};
    }
    dispatch(y.device(), [&](auto device) {
      kernels::moving_sum(device, extents_.outer, extents_.n, extents_.inner, reach_, scale_,
                          kernel_value(update.alpha), input, kernel_value(update.beta),
                          kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    forward(y, x, update);
  }
  Cost cost() const override {
    const auto elements = static_cast<double>(this->domain().local_count());
    return {.flops = elements * 4 * (is_complex<T> ? 2 : 1),
            .bytes = 2 * elements * sizeof(T),
            .messages = exchange_ ? static_cast<double>(exchange_->message_count()) : 0};
  }

 private:
  int axis_;
  detail::AxisExtents extents_;
  index_t reach_;
  Real<T> scale_;
  mutable std::optional<HaloExchange<T>> exchange_;
};

/// The average along one axis. Terms beyond its extent are omitted. Sums are divided by the length
/// at the end, so that those of integers are exact.
template <Scalar T>
LinearOperator<T> average_along(const Layout& layout, int axis, index_t length) {
  const index_t reach = std::min(length / 2, layout.shape()[axis] - 1);
  if (reach <= kernels::max_moving_reach) {
    if (reach == 0) return T(1 / static_cast<Real<T>>(length)) * identity<T>(layout);
    return make_operator<MovingAverage<T>>(layout, axis, reach, length);
  }
  const std::vector<T> ones(static_cast<std::size_t>(2 * reach + 1), T{1});
  return T(1 / static_cast<Real<T>>(length)) *
         convolve1d<T>(layout, ones, {.offset = reach, .axis = axis});
}

}  // namespace

template <Scalar T>
LinearOperator<T> smoothing(const Layout& layout, const std::vector<index_t>& lengths,
                            const SmoothingOptions& options) {
  detail::agree_on_plan(smoothing_name, {&layout}, dtype_of<T>,
                        fmt::format("lengths [{}], axes [{}]", fmt::join(lengths, ", "),
                                    fmt::join(options.axes, ", ")));
  require(!lengths.empty() && static_cast<int>(lengths.size()) <= layout.ndim(),
          "{}: got {} lengths for an array of shape {}; pass one per axis to smooth along",
          smoothing_name, lengths.size(), to_string(layout.shape()));
  require(options.axes.empty() || options.axes.size() == lengths.size(),
          "{}: got {} lengths for {} axes; pass one per axis", smoothing_name, lengths.size(),
          options.axes.size());
  for (const index_t length : lengths) {
    require(length > 0 && length % 2 == 1, "{}: lengths must be odd and positive, got {}",
            smoothing_name, length);
  }
  const std::vector<int> axes = axes_of(options, lengths.size(), layout.ndim());
  LinearOperator<T> all = identity<T>(layout);
  if (layout.count() == 0) return all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (lengths[i] > 1) all = average_along<T>(layout, axes[i], lengths[i]) * all;
  }
  return all;
}

#define INSTANTIATE(T)                                                                \
  template LinearOperator<T> smoothing<T>(const Layout&, const std::vector<index_t>&, \
                                          const SmoothingOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
