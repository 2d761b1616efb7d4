#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct NonStationaryConvolve1DOptions {
  int axis = -1;
};

/// Convolves lines along an axis with a filter that changes from place to place: each element of x
/// spreads out with the filter of its place, y[i + j - m] += h_i[j] x[i], where m is the middle.
///
/// Filter k belongs to place positions[k], in equal steps; between those, filters are interpolated,
/// and beyond the first and last they remain the same. All have the same odd length, which may
/// exceed that of the lines. Where the axis is cut, one exchange of halos.
template <Scalar T>
LinearOperator<T> non_stationary_convolve1d(const Layout& layout,
                                            const std::vector<std::vector<T>>& filters,
                                            const std::vector<index_t>& positions,
                                            const NonStationaryConvolve1DOptions& options = {});

}  // namespace weft
