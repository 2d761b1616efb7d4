#include <weft/op/convolution/downsample.hpp>

#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/restriction.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_options.hpp"
#include "op/convolution/gaussian.hpp"

#include <fmt/format.h>

namespace weft {
namespace {

constexpr const char* downsample_name = "downsample";

struct AxisStep {
  int axis;
  index_t factor;
  double sigma;
};

std::vector<AxisStep> checked_steps(const Layout& layout, const DownsampleOptions& options) {
  const std::vector<int> axes = detail::distinct_axes(options.axes, layout.ndim(), downsample_name);
  std::vector<AxisStep> steps;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const index_t factor =
        detail::value_for_axis(options.factors, i, axes.size(), "factors", downsample_name);
    require(factor >= 1, "{}: factors must be at least 1, got {}", downsample_name, factor);
    const double sigma =
        options.sigma.empty()
            ? 0.5 * static_cast<double>(factor - 1)
            : detail::value_for_axis(options.sigma, i, axes.size(), "sigma", downsample_name);
    detail::check_gaussian(sigma, options.truncate, downsample_name);
    steps.push_back({axes[i], factor, sigma});
  }
  return steps;
}

}  // namespace

template <Scalar T>
LinearOperator<T> downsample(const Layout& layout, const DownsampleOptions& options) {
  detail::agree_on_plan(downsample_name, {&layout}, dtype_of<T>,
                        fmt::format("factors [{}], sigma [{}], truncate {}, axes [{}]",
                                    fmt::join(options.factors, " "), fmt::join(options.sigma, " "),
                                    options.truncate, fmt::join(options.axes, " ")));
  LinearOperator<T> result = identity<T>(layout);
  // Axis by axis, so that later ones have fewer elements.
  for (const AxisStep& step : checked_steps(layout, options)) {
    result =
        detail::gaussian_along<T>(result.range(), step.axis, step.sigma, options.truncate) * result;
    if (step.factor == 1) continue;
    std::vector<index_t> kept;
    for (index_t i = 0; i < layout.shape()[step.axis]; i += step.factor) kept.push_back(i);
    result = restriction<T>(result.range(), kept, {.axis = step.axis}) * result;
  }
  return result;
}

#define INSTANTIATE(T) \
  template LinearOperator<T> downsample<T>(const Layout&, const DownsampleOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
