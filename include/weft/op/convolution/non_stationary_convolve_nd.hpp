#pragma once

#include <weft/op/linear_operator.hpp>

#include <span>
#include <vector>

namespace weft {

/// Filters on a regular grid, for convolutions along several axes with a filter that depends on the
/// position. Axis k below is the k-th of those that are convolved.
template <Scalar T>
struct FilterBank {
  /// The shape of one filter. Extents are odd; lag 0 is in the middle.
  Shape shape;
  /// The positions of filters along each axis, which ascend in equal steps. Between them filters
  /// are interpolated linearly along each axis; beyond the first and the last they are constant.
  std::vector<std::vector<index_t>> positions;
  /// The filters in row-major order: the array [positions of axis 0, ..., taps of axis 0, ...].
  std::vector<T> filters;
};

struct NonStationaryConvolveOptions {
  /// The axes to convolve along; by default the last ones of the array.
  std::vector<int> axes = {};
};

/// Convolution along two axes with a filter that depends on the position:
/// y[k] = sum over i of h_i[k - i + m] x[i], where h_i is the filter at position i and m the index
/// of its middle. x is zero outside the array. PyLops: NonStationaryConvolve2D.
///
/// All ranks pass the same filters, which may be longer than the array. Every element is a sum that
/// is computed in a fixed order, in the adjoint as well. Communication: one halo exchange, corners
/// included, if one of the axes is distributed.
template <Scalar T>
LinearOperator<T> non_stationary_convolve2d(const Layout& layout,
                                            const std::type_identity_t<FilterBank<T>>& bank,
                                            const NonStationaryConvolveOptions& options = {});

/// The same along three axes. PyLops: NonStationaryConvolve3D.
template <Scalar T>
LinearOperator<T> non_stationary_convolve3d(const Layout& layout,
                                            const std::type_identity_t<FilterBank<T>>& bank,
                                            const NonStationaryConvolveOptions& options = {});

}  // namespace weft
