// Fourier transforms as products of operators: redistribution, padding and shifts (rearrange), and
// transforms along axes that are not distributed (local_fft).

#include <weft/op/fourier/fft.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/redistribute.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/axis_layout.hpp"
#include "op/basic/rearrange.hpp"
#include "op/fourier/fft_options.hpp"
#include "op/fourier/fourier_plan.hpp"
#include "op/fourier/local_fft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using detail::FftAxis;
using Axes = std::vector<FftAxis>;

Layout resize_axes(Layout layout, const Axes& axes) {
  for (const FftAxis& axis : axes) layout = detail::resize_axis(layout, axis.axis, axis.count());
  return layout;
}

/// Before a transform: moves the origin to position 0, and pads or truncates to nfft.
template <Scalar T>
LinearOperator<T> pad_and_shift(const Layout& layout, const Axes& axes) {
  Layout range = layout;
  std::vector<std::vector<detail::Run>> runs(static_cast<std::size_t>(layout.ndim()));
  for (const FftAxis& axis : axes) {
    const index_t n = layout.shape()[axis.axis];
    range = detail::resize_axis(range, axis.axis, axis.nfft);
    runs[static_cast<std::size_t>(axis.axis)] =
        detail::rotation(n, axis.ifftshift ? n / 2 : 0, axis.nfft);
  }
  return detail::rearrange<T>(layout, range, runs);
}

/// After a transform: moves frequency zero to the middle.
template <Scalar T>
LinearOperator<T> shift_to_center(const Layout& layout, const Axes& axes) {
  std::vector<std::vector<detail::Run>> runs(static_cast<std::size_t>(layout.ndim()));
  for (const FftAxis& axis : axes) {
    const index_t count = axis.count();
    if (!axis.fftshift) continue;
    runs[static_cast<std::size_t>(axis.axis)] =
        detail::rotation(count, (count + 1) / 2 % count, count);
  }
  return detail::rearrange<T>(layout, layout, runs);
}

/// Removes from `pending` the axes that are not distributed, and returns them.
Axes take_local(Axes& pending, const Layout& layout) {
  const auto first = std::stable_partition(
      pending.begin(), pending.end(),
      [&](const FftAxis& axis) { return !detail::is_undistributed(layout, axis.axis); });
  Axes local(first, pending.end());
  pending.erase(first, pending.end());
  return local;
}

/// The transforms along all axes of a complex array. Axes that are not distributed are transformed
/// first, together; then a distributed axis is gathered, and so on.
template <Scalar C>
LinearOperator<C> complex_steps(const Layout& layout, Axes pending, FftPlanning planning) {
  LinearOperator<C> steps = identity<C>(layout);
  while (!pending.empty()) {
    Axes axes = take_local(pending, steps.range());
    if (axes.empty()) {
      const Layout moved = detail::gather_axis(steps.range(), pending.back().axis);
      steps = redistribute<C>(steps.range(), moved) * steps;
      continue;
    }
    std::vector<int> numbers;
    for (const FftAxis& axis : axes) numbers.push_back(axis.axis);
    steps = pad_and_shift<C>(steps.range(), axes) * steps;
    steps = detail::local_fft<C>(steps.range(), numbers, planning) * steps;
    steps = shift_to_center<C>(steps.range(), axes) * steps;
  }
  return steps;
}

/// The transform of a real array along one axis.
template <Scalar F>
LinearOperator<F, Spectrum<F>> real_step(const Layout& layout, const FftAxis& axis,
                                         FftPlanning planning) {
  LinearOperator<F> before = identity<F>(layout);
  if (!detail::is_undistributed(layout, axis.axis)) {
    before = redistribute<F>(layout, detail::gather_axis(layout, axis.axis));
  }
  before = pad_and_shift<F>(before.range(), {axis}) * before;
  const auto step = detail::local_real_fft<F>(before.range(), axis.axis, planning) * before;
  return shift_to_center<Spectrum<F>>(step.range(), {axis}) * step;
}

template <Scalar D>
LinearOperator<D, Spectrum<D>> all_steps(const Layout& layout, Axes axes, FftPlanning planning) {
  if constexpr (is_complex<D>) {
    return complex_steps<D>(layout, std::move(axes), planning);
  } else {
    const auto first = real_step<D>(layout, axes.back(), planning);
    axes.pop_back();
    return complex_steps<Spectrum<D>>(first.range(), std::move(axes), planning) * first;
  }
}

double factor_of(FftNorm norm, double elements) {
  switch (norm) {
    case FftNorm::ortho: return 1 / std::sqrt(elements);
    case FftNorm::none: return 1;
    case FftNorm::one_over_n: return 1 / elements;
  }
  return 1;
}

/// Names the product of steps and simplifies AᴴA.
template <Scalar D>
class Fft final : public OperatorNode<D, Spectrum<D>> {
  using C = Spectrum<D>;

 public:
  Fft(std::string name, const LinearOperator<D, C>& steps, std::optional<Real<D>> normal)
      : OperatorNode<D, C>(std::move(name), steps.domain(), steps.range()),
        steps_(steps),
        normal_(normal) {}

  void forward(const ConstArrayView<D>& x, const ArrayView<C>& y, Update<C> update) const override {
    steps_.forward(x, y, update);
  }
  void adjoint(const ConstArrayView<C>& y, const ArrayView<D>& x, Update<D> update) const override {
    steps_.adjoint(y, x, update);
  }
  std::vector<const AnyOperatorNode*> children() const override { return {steps_.node().get()}; }
  std::optional<LinearOperator<D>> normal() const override {
    if (!normal_) return std::nullopt;
    return *normal_ * identity<D>(this->domain());
  }

 private:
  LinearOperator<D, C> steps_;
  std::optional<Real<D>> normal_;  // AᴴA is the identity times this
};

template <Scalar D>
LinearOperator<D, Spectrum<D>> make_fft(const Layout& layout, const FftNdOptions& options,
                                        const char* who) {
  detail::agree_on_plan(who, {&layout}, dtype_of<D>, detail::text_of(options));
  detail::require_enumerator(options.norm, FftNorm::one_over_n, who, "FftNorm");
  detail::require_enumerator(options.planning, FftPlanning::measure, who, "FftPlanning");
  const Axes axes = detail::fft_axes(layout, options, !is_complex<D>, who);
  detail::require_fourier(layout.device(), who);
  double elements = 1;
  bool is_injective = true;
  std::vector<int> numbers;
  for (const FftAxis& axis : axes) {
    elements *= static_cast<double>(axis.nfft);
    is_injective = is_injective && axis.nfft >= layout.shape()[axis.axis];
    numbers.push_back(axis.axis);
  }
  const double factor = factor_of(options.norm, elements);
  auto steps = all_steps<D>(layout, axes, options.planning);
  if (!options.transposed) {
    steps = redistribute<Spectrum<D>>(steps.range(), resize_axes(layout, axes)) * steps;
  }
  std::optional<Real<D>> normal;
  if (is_injective) normal = static_cast<Real<D>>(elements * factor * factor);
  return make_operator<Fft<D>>(fmt::format("{} along ({})", who, fmt::join(numbers, ", ")),
                               static_cast<Real<D>>(factor) * steps, normal);
}

}  // namespace

template <Scalar D>
LinearOperator<D, Spectrum<D>> fft(const Layout& layout, const FftOptions& options) {
  return make_fft<D>(layout, detail::as_nd(options), "fft");
}

template <Scalar D>
LinearOperator<D, Spectrum<D>> fftnd(const Layout& layout, const FftNdOptions& options) {
  return make_fft<D>(layout, options, "fftnd");
}

template <Scalar D>
LinearOperator<D, Spectrum<D>> fft2d(const Layout& layout, FftNdOptions options) {
  if (options.axes.empty()) options.axes = {-2, -1};
  require(options.axes.size() == 2, "fft2d: got {} axes, expected 2", options.axes.size());
  return make_fft<D>(layout, options, "fft2d");
}

#define INSTANTIATE(D)                                                                  \
  template LinearOperator<D, Spectrum<D>> fft<D>(const Layout&, const FftOptions&);     \
  template LinearOperator<D, Spectrum<D>> fftnd<D>(const Layout&, const FftNdOptions&); \
  template LinearOperator<D, Spectrum<D>> fft2d<D>(const Layout&, FftNdOptions);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
