#pragma once

// Natural cubic splines along an axis, for interp.cpp.

#include <weft/op/linear_operator.hpp>

namespace weft::detail {

/// From samples at distance 1 to a sixth of the second derivatives, at the samples, of the natural
/// cubic spline through them: y[i-1] + 4 y[i] + y[i+1] = x[i-1] - 2 x[i] + x[i+1] between the ends,
/// where y is 0. The axis must not be distributed. No communication.
template <Scalar T>
LinearOperator<T> spline_moments(const Layout& layout, int axis);

}  // namespace weft::detail
