#include <weft/op/convolution/non_stationary_convolve1d.hpp>

#include <weft/core/error.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/plan_agreement.hpp"
#include "op/convolution/axis_filter.hpp"
#include "op/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

/// Filters at equally spaced positions, interpolated linearly in between.
template <Scalar T>
class LineFilters {
 public:
  LineFilters(const std::vector<std::vector<T>>& filters, const std::vector<index_t>& positions)
      : filters_(filters),
        first_(positions.front()),
        step_(positions.size() > 1 ? positions[1] - positions[0] : 1),
        middle_(static_cast<index_t>(filters.front().size()) / 2) {}

  index_t middle() const { return middle_; }

  /// Element middle() + lag of the filter at a position.
  T operator()(index_t position, index_t lag) const {
    const auto tap = static_cast<std::size_t>(middle_ + lag);
    if (position <= first_) return filters_.front()[tap];
    const auto k = static_cast<std::size_t>((position - first_) / step_);
    if (k + 1 >= filters_.size()) return filters_.back()[tap];
    const Real<T> weight =
        static_cast<Real<T>>((position - first_) % step_) / static_cast<Real<T>>(step_);
    return (1 - weight) * filters_[k][tap] + weight * filters_[k + 1][tap];
  }

 private:
  const std::vector<std::vector<T>>& filters_;
  index_t first_;
  index_t step_;
  index_t middle_;
};

/// The matrix rows of this rank. A[i, m] is the element at lag i - m of the filter at m; the
/// adjoint has conj(A[i, m]) in row m.
template <Scalar T>
detail::FilterRows<T> rows_of(const LineFilters<T>& bank, const Layout& layout, int axis,
                              bool adjoint) {
  const index_t n = layout.shape()[axis];
  const index_t reach = std::min(bank.middle(), n - 1);
  const index_t begin = layout.box().offset[axis];
  detail::FilterRows<T> rows{2 * reach + 1, reach, {}, true};
  for (index_t offset = -reach; offset <= reach; ++offset) {
    for (index_t i = begin; i < begin + layout.box().shape[axis]; ++i) {
      rows.coefficients.push_back(adjoint ? detail::conj_of(bank(i, offset))
                                          : bank(i + offset, -offset));
    }
  }
  return rows;
}

void check_positions(const std::vector<index_t>& positions, index_t n) {
  for (std::size_t k = 0; k < positions.size(); ++k) {
    require(positions[k] >= 0 && positions[k] < n,
            "non_stationary_convolve1d: position {} is outside the axis, which has {} elements",
            positions[k], n);
    if (k == 0) continue;
    require(positions[k] > positions[k - 1] &&
                positions[k] - positions[k - 1] == positions[1] - positions[0],
            "non_stationary_convolve1d: positions must increase in equal steps, but {} follows {}",
            positions[k], positions[k - 1]);
  }
}

}  // namespace

template <Scalar T>
LinearOperator<T> non_stationary_convolve1d(const Layout& layout,
                                            const std::vector<std::vector<T>>& filters,
                                            const std::vector<index_t>& positions,
                                            const NonStationaryConvolve1DOptions& options) {
  detail::agree_on_plan(
      "non_stationary_convolve1d", {&layout}, dtype_of<T>,
      fmt::format("axis {}, {} filters of {}, positions {}", options.axis, filters.size(),
                  filters.empty() ? 0 : filters.front().size(), fmt::join(positions, " ")));
  const int axis = normalize_axis(options.axis, layout.ndim(), "non_stationary_convolve1d");
  require(!filters.empty() && filters.size() == positions.size(),
          "non_stationary_convolve1d: got {} filters for {} positions; pass one per position",
          filters.size(), positions.size());
  for (const std::vector<T>& filter : filters) {
    require(filter.size() % 2 == 1 && filter.size() == filters.front().size(),
            "non_stationary_convolve1d: filters must have the same odd length, got {} and {}",
            filters.front().size(), filter.size());
  }
  check_positions(positions, layout.shape()[axis]);
  if (layout.count() == 0) return identity<T>(layout);
  const LineFilters<T> bank(filters, positions);
  return detail::axis_filter<T>(fmt::format("non-stationary convolution along axis {}", axis),
                                layout, axis, rows_of(bank, layout, axis, false),
                                rows_of(bank, layout, axis, true));
}

#define INSTANTIATE(T)                                                                \
  template LinearOperator<T> non_stationary_convolve1d<T>(                            \
      const Layout&, const std::vector<std::vector<T>>&, const std::vector<index_t>&, \
      const NonStationaryConvolve1DOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
