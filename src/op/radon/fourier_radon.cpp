#include <weft/op/radon/fourier_radon.hpp>

#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/fourier/fourier_plan.hpp"
#include "op/radon/phase_sum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

std::string text_of(const std::vector<RadonAxis>& axes, const FourierRadonOptions& options) {
  std::string text =
      fmt::format("dt {}, nfft {}, frequencies [{}, {})", options.dt, options.nfft.value_or(0),
                  options.first_frequency, options.end_frequency.value_or(-1));
  for (const RadonAxis& axis : axes) {
    text += fmt::format(", curve {}, offsets [{}], slownesses [{}]", static_cast<int>(axis.curve),
                        fmt::join(axis.offsets, " "), fmt::join(axis.slownesses, " "));
  }
  return text;
}

void check_positions(const std::vector<double>& positions, const char* what, const char* who) {
  require(!positions.empty(), "{}: there are no {}", who, what);
  for (const double position : positions) {
    require(std::isfinite(position), "{}: {} must be finite, got {}", who, what, position);
  }
}

void check_axes(const Layout& model, const std::vector<RadonAxis>& axes, const char* who) {
  require(!model.is_stack() && model.ndim() == static_cast<int>(axes.size()) + 1,
          "{}: expected a model with {} axes, but it is {}", who, axes.size() + 1,
          to_string(model));
  for (int axis = 0; axis + 1 < model.ndim(); ++axis) {
    const RadonAxis& of = axes[static_cast<std::size_t>(axis)];
    detail::require_enumerator(of.curve, RadonCurve::parabolic, who, "RadonCurve");
    check_positions(of.offsets, "offsets", who);
    check_positions(of.slownesses, "slownesses", who);
    require(std::ssize(of.slownesses) == model.shape()[axis],
            "{}: got {} slownesses for axis {} of a model of shape {}", who, of.slownesses.size(),
            axis, to_string(model.shape()));
  }
}

/// exp(-2 pi i f p g(h)): inputs are slownesses with a minus sign, outputs g of offsets.
detail::PhaseSumOptions phase_options(int axis, const RadonAxis& of) {
  detail::PhaseSumOptions options{};
  options.axis = axis;
  for (const double p : of.slownesses) options.input_positions.push_back(-p);
  for (const double h : of.offsets) {
    options.output_positions.push_back(of.curve == RadonCurve::linear ? h : h * h);
  }
  return options;
}

template <std::floating_point R>
LinearOperator<R> make_radon(const Layout& model, const std::vector<RadonAxis>& axes,
                             const FourierRadonOptions& options, const char* who) {
  detail::agree_on_plan(who, {&model}, dtype_of<R>, text_of(axes, options));
  check_axes(model, axes, who);
  detail::require_positive(options.dt, who, "dt");
  const index_t times = model.shape()[model.ndim() - 1];
  require(times > 0, "{}: the time axis of {} is empty", who, to_string(model.shape()));
  const index_t nfft = options.nfft.value_or(times);
  require(nfft >= times, "{}: nfft is {}, but there are {} times", who, nfft, times);
  const index_t count = nfft / 2 + 1;
  const index_t end = options.end_frequency.value_or(count);
  require(options.first_frequency >= 0 && options.first_frequency <= end && end <= count,
          "{}: frequencies [{}, {}) are not among the {} of nfft = {}", who,
          options.first_frequency, end, count, nfft);
  detail::require_fourier(model.device(), who);
  detail::SpectralSteps<R> steps(model, nfft);
  for (int axis = model.ndim() - 2; axis >= 0; --axis) {
    auto phases = phase_options(axis, axes[static_cast<std::size_t>(axis)]);
    phases.df = 1 / (static_cast<double>(nfft) * options.dt);
    phases.begin = options.first_frequency;
    phases.end = end;
    steps.add(detail::phase_sum<std::complex<R>>(steps.layout_for(axis), phases));
  }
  return steps.finish();
}

}  // namespace

template <std::floating_point R>
LinearOperator<R> fourier_radon2d(const Layout& model, const RadonAxis& x,
                                  const FourierRadonOptions& options) {
  return make_radon<R>(model, {x}, options, "fourier_radon2d");
}

template <std::floating_point R>
LinearOperator<R> fourier_radon3d(const Layout& model, const RadonAxis& y, const RadonAxis& x,
                                  const FourierRadonOptions& options) {
  return make_radon<R>(model, {y, x}, options, "fourier_radon3d");
}

#define INSTANTIATE(R)                                                                             \
  template LinearOperator<R> fourier_radon2d<R>(const Layout&, const RadonAxis&,                   \
                                                const FourierRadonOptions&);                       \
  template LinearOperator<R> fourier_radon3d<R>(const Layout&, const RadonAxis&, const RadonAxis&, \
                                                const FourierRadonOptions&);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft
