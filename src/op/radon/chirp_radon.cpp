#include <weft/op/radon/chirp_radon.hpp>

#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/fourier/fourier_plan.hpp"
#include "op/radon/phase_sum.hpp"

#include <fmt/format.h>

namespace weft {
namespace {

template <std::floating_point R>
LinearOperator<R> make_radon(const Layout& data, const std::vector<ChirpAxis>& axes,
                             const ChirpRadonOptions& options, const char* who) {
  std::string text = fmt::format("dt {}", options.dt);
  for (const ChirpAxis& axis : axes) text += fmt::format(", dx {}, pmax {}", axis.dx, axis.pmax);
  detail::agree_on_plan(who, {&data}, dtype_of<R>, text);
  require(!data.is_stack() && data.ndim() == static_cast<int>(axes.size()) + 1,
          "{}: expected data with {} axes, but they are {}", who, axes.size() + 1, to_string(data));
  require(data.count() > 0, "{}: data of shape {} are empty", who, to_string(data.shape()));
  detail::require_positive(options.dt, who, "dt");
  for (const ChirpAxis& axis : axes) {
    detail::require_positive(axis.dx, who, "dx");
    detail::require_positive(axis.pmax, who, "pmax");
  }
  detail::require_fourier(data.device(), who);
  const index_t times = data.shape()[data.ndim() - 1];
  detail::SpectralSteps<R> steps(data, times);
  for (int axis = data.ndim() - 2; axis >= 0; --axis) {
    const ChirpAxis& of = axes[static_cast<std::size_t>(axis)];
    const double dp = 2 * of.pmax / static_cast<double>(data.shape()[axis]);
    steps.add(detail::chirp_sum<std::complex<R>>(steps.layout_for(axis), axis, dp * of.dx,
                                                 1 / (static_cast<double>(times) * options.dt)));
  }
  return steps.finish();
}

}  // namespace

template <std::floating_point R>
LinearOperator<R> chirp_radon2d(const Layout& data, const ChirpAxis& x,
                                const ChirpRadonOptions& options) {
  return make_radon<R>(data, {x}, options, "chirp_radon2d");
}

template <std::floating_point R>
LinearOperator<R> chirp_radon3d(const Layout& data, const ChirpAxis& y, const ChirpAxis& x,
                                const ChirpRadonOptions& options) {
  return make_radon<R>(data, {y, x}, options, "chirp_radon3d");
}

#define INSTANTIATE(R)                                                                           \
  template LinearOperator<R> chirp_radon2d<R>(const Layout&, const ChirpAxis&,                   \
                                              const ChirpRadonOptions&);                         \
  template LinearOperator<R> chirp_radon3d<R>(const Layout&, const ChirpAxis&, const ChirpAxis&, \
                                              const ChirpRadonOptions&);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft
