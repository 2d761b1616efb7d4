#include <weft/op/convolution/smoothing.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/convolution/convolve1d.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

constexpr const char* who = "smoothing";

/// The axes of the options, or the last `count` axes.
std::vector<int> axes_of(const SmoothingOptions& options, std::size_t count, int ndim) {
  if (!options.axes.empty()) return detail::distinct_axes(options.axes, ndim, who);
  std::vector<int> last;
  for (int axis = ndim - static_cast<int>(count); axis < ndim; ++axis) last.push_back(axis);
  return last;
}

/// The moving average along one axis. Terms beyond the extent of the axis are omitted. Sums are
/// divided by the length at the end, so that those of integers are exact.
template <Scalar T>
LinearOperator<T> average_along(const Layout& layout, int axis, index_t length) {
  const index_t reach = std::min(length / 2, layout.shape()[axis] - 1);
  const std::vector<T> ones(static_cast<std::size_t>(2 * reach + 1), T{1});
  return T(1 / static_cast<Real<T>>(length)) *
         convolve1d<T>(layout, ones, {.offset = reach, .axis = axis});
}

}  // namespace

template <Scalar T>
LinearOperator<T> smoothing(const Layout& layout, const std::vector<index_t>& lengths,
                            const SmoothingOptions& options) {
  detail::agree_on_plan(who, {&layout}, dtype_of<T>,
                        fmt::format("lengths [{}], axes [{}]", fmt::join(lengths, ", "),
                                    fmt::join(options.axes, ", ")));
  require(!lengths.empty() && static_cast<int>(lengths.size()) <= layout.ndim(),
          "{}: got {} lengths for an array of shape {}; pass one per axis to smooth along", who,
          lengths.size(), to_string(layout.shape()));
  require(options.axes.empty() || options.axes.size() == lengths.size(),
          "{}: got {} lengths for {} axes; pass one per axis", who, lengths.size(),
          options.axes.size());
  for (const index_t length : lengths) {
    require(length > 0 && length % 2 == 1, "{}: lengths must be odd and positive, got {}", who,
            length);
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
