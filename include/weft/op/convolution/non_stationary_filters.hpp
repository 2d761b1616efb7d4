#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct NonStationaryFiltersOptions {
  /// The axes that are convolved; by default the last ones of the input. Filters do not depend on
  /// the position along other axes.
  std::vector<int> axes = {};
};

/// Non-stationary convolution as a function of the filters, for their estimation:
/// y[k] = sum over i of h_i[k - i + m] input[i] along one axis, where h_i is the filter at position
/// i, and m the index of its middle. Filters have `taps` elements, an odd number, and are
/// interpolated as in non_stationary_convolve1d. PyLops: NonStationaryFilters1D.
///
/// The model is the array [filters, taps], of which every rank has a copy; the data has the layout
/// of the input. Communication: none in forward, since ghost cells of the input are fetched once at
/// construction; one allreduce in the adjoint if the input is distributed.
template <Scalar T>
LinearOperator<T> non_stationary_filters1d(const ConstArrayView<T>& input, index_t taps,
                                           const std::vector<index_t>& positions,
                                           const NonStationaryFiltersOptions& options = {});

/// The same along two axes, for filters of a shape with odd extents at positions on a regular grid,
/// as in non_stationary_convolve2d. The model is the array [filters of axis 0, filters of axis 1,
/// taps of axis 0, taps of axis 1]. PyLops: NonStationaryFilters2D.
template <Scalar T>
LinearOperator<T> non_stationary_filters2d(const ConstArrayView<T>& input, const Shape& shape,
                                           const std::vector<std::vector<index_t>>& positions,
                                           const NonStationaryFiltersOptions& options = {});

}  // namespace weft
