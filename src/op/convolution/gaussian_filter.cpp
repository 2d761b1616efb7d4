#include <weft/op/convolution/gaussian_filter.hpp>

#include <weft/op/algebra/operator_algebra.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_options.hpp"
#include "op/convolution/gaussian.hpp"

#include <fmt/format.h>

#include <numeric>

namespace weft {

template <Scalar T>
LinearOperator<T> gaussian_filter(const Layout& layout, const GaussianFilterOptions& options) {
  constexpr const char* who = "gaussian_filter";
  detail::agree_on_plan(
      who, {&layout}, dtype_of<T>,
      fmt::format("sigma [{}], axes [{}], truncate {}", fmt::join(options.sigma, " "),
                  fmt::join(options.axes, " "), options.truncate));
  std::vector<int> axes = options.axes;
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(layout.ndim()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  axes = detail::distinct_axes(std::move(axes), layout.ndim(), who);
  std::vector<double> sigma;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    sigma.push_back(detail::value_for_axis(options.sigma, i, axes.size(), "sigma", who));
    detail::check_gaussian(sigma[i], options.truncate, who);
  }
  LinearOperator<T> filter = identity<T>(layout);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    filter = detail::gaussian_along<T>(layout, axes[i], sigma[i], options.truncate) * filter;
  }
  return filter;
}

#define INSTANTIATE(T) \
  template LinearOperator<T> gaussian_filter<T>(const Layout&, const GaussianFilterOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
