#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct NonStationaryConvolve1DOptions {
  /// The axis to convolve along.
  int axis = -1;
};

/// Convolution along an axis with a filter that depends on the position:
/// y[k] = sum over i of h_i[k - i + m] x[i], where h_i is the filter at position i and m the index
/// of its middle. PyLops: NonStationaryConvolve1D.
///
/// filters[k] is the filter at positions[k]. Positions ascend in equal steps; filters are
/// interpolated linearly between them and constant before the first and after the last. All filters
/// have the same odd length, which may exceed the extent of the axis. Communication: one halo
/// exchange if the axis is distributed.
template <Scalar T>
LinearOperator<T> non_stationary_convolve1d(const Layout& layout,
                                            const std::vector<std::vector<T>>& filters,
                                            const std::vector<index_t>& positions,
                                            const NonStationaryConvolve1DOptions& options = {});

}  // namespace weft
