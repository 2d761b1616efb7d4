// Wavelet transforms as products of operators: redistribution, zero padding and levels along axes
// that are not distributed (local_dwt).

#include <weft/op/wavelet/dwt.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/redistribute.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_layout.hpp"
#include "op/axis_options.hpp"
#include "op/basic/rearrange.hpp"
#include "op/wavelet/levels.hpp"
#include "op/wavelet/local_dwt.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

using Axes = std::vector<int>;

bool has_local(const Layout& layout, const Axes& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [&](int axis) { return detail::is_undistributed(layout, axis); });
}

/// A layout in which none of the axes is distributed, reached by gathering one after the other; if
/// this only moves the distribution among them, the layout itself.
Layout gather_axes(const Layout& layout, const Axes& axes) {
  Layout gathered = layout;
  for (const int axis : axes) {
    if (!detail::is_undistributed(gathered, axis)) {
      gathered = detail::gather_axis(gathered, axis, axes);
    }
  }
  return has_local(gathered, axes) ? gathered : layout;
}

/// Removes from `pending` the axes that are not distributed, and returns them.
Axes take_local(Axes& pending, const Layout& layout) {
  const auto first = std::stable_partition(pending.begin(), pending.end(), [&](int axis) {
    return !detail::is_undistributed(layout, axis);
  });
  Axes local(first, pending.end());
  pending.erase(first, pending.end());
  return local;
}

/// All levels along `axes`.
template <Scalar T>
LinearOperator<T> all_steps(const Layout& layout, const Axes& axes, int levels,
                            const detail::WaveletFilters& filters) {
  const Layout gathered = gather_axes(layout, axes);
  LinearOperator<T> steps = redistribute<T>(layout, gathered);
  if (has_local(gathered, axes)) {
    steps = detail::pad_for_levels<T>(gathered, axes, levels) * steps;
    return detail::local_dwt<T>(steps.range(), steps.range().shape(), axes, levels, filters) *
           steps;
  }
  // The distribution moves among the axes: split level by level.
  for (int level = 0; level < levels; ++level) {
    Axes pending = axes;
    while (!pending.empty()) {
      const Axes local = take_local(pending, steps.range());
      if (local.empty()) {
        const Layout moved = detail::gather_axis(steps.range(), pending.back());
        steps = redistribute<T>(steps.range(), moved) * steps;
        continue;
      }
      if (level == 0) steps = detail::pad_for_levels<T>(steps.range(), local, levels) * steps;
      Shape corner = steps.range().shape();
      for (const int axis : axes) corner = corner.with(axis, corner[axis] >> level);
      steps = detail::local_dwt<T>(steps.range(), corner, local, 1, filters) * steps;
    }
  }
  return steps;
}

/// Names the product of steps and simplifies AᴴA of orthogonal wavelets.
template <Scalar T>
class Dwt final : public OperatorNode<T> {
 public:
  Dwt(std::string name, const LinearOperator<T>& steps, bool orthogonal)
      : OperatorNode<T>(std::move(name), steps.domain(), steps.range()),
        steps_(steps),
        orthogonal_(orthogonal) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    steps_.forward(x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    steps_.adjoint(y, x, update);
  }
  std::vector<const AnyOperatorNode*> children() const override { return {steps_.node().get()}; }
  std::optional<LinearOperator<T>> normal() const override {
    if (!orthogonal_) return std::nullopt;
    return identity<T>(this->domain());
  }

 private:
  LinearOperator<T> steps_;
  bool orthogonal_;
};

template <Scalar T>
LinearOperator<T> make_dwt(const Layout& layout, const DwtNdOptions& options, const char* who) {
  detail::agree_on_plan(
      who, {&layout}, dtype_of<T>,
      fmt::format("wavelet {}, axes [{}], level {}{}", options.wavelet,
                  fmt::join(options.axes, ", "), options.level, options.dual ? ", dual" : ""));
  detail::WaveletFilters filters = detail::wavelet_filters(options.wavelet, who);
  if (options.dual) filters = detail::dual_of(filters);
  Axes axes = options.axes;
  if (axes.empty()) {
    for (int axis = 0; axis < layout.ndim(); ++axis) axes.push_back(axis);
  }
  require(!axes.empty(), "{}: the array has no axes", who);
  axes = detail::distinct_axes(std::move(axes), layout.ndim(), who);
  Layout range = layout;
  for (const int axis : axes) {
    range = detail::resize_axis(range, axis,
                                detail::padded_extent(layout.shape(), axis, options.level, who));
  }
  const auto steps = all_steps<T>(layout, axes, options.level, filters);
  return make_operator<Dwt<T>>(fmt::format("{} by {} along ({}), {} levels", who, options.wavelet,
                                           fmt::join(axes, ", "), options.level),
                               redistribute<T>(steps.range(), range) * steps, filters.orthogonal);
}

}  // namespace

template <Scalar T>
LinearOperator<T> dwt(const Layout& layout, const DwtOptions& options) {
  return make_dwt<T>(layout,
                     {.wavelet = options.wavelet,
                      .axes = {options.axis},
                      .level = options.level,
                      .dual = options.dual},
                     "dwt");
}

template <Scalar T>
LinearOperator<T> dwtnd(const Layout& layout, const DwtNdOptions& options) {
  return make_dwt<T>(layout, options, "dwtnd");
}

template <Scalar T>
LinearOperator<T> dwt2d(const Layout& layout, DwtNdOptions options) {
  if (options.axes.empty()) options.axes = {-2, -1};
  require(options.axes.size() == 2, "dwt2d: got {} axes, expected 2", options.axes.size());
  return make_dwt<T>(layout, options, "dwt2d");
}

#define INSTANTIATE(T)                                                     \
  template LinearOperator<T> dwt<T>(const Layout&, const DwtOptions&);     \
  template LinearOperator<T> dwtnd<T>(const Layout&, const DwtNdOptions&); \
  template LinearOperator<T> dwt2d<T>(const Layout&, DwtNdOptions);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
