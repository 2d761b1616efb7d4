#pragma once

#include <weft/array/axis_padding.hpp>
#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

/// Pads an array with zeros, with one width (before, after) per axis. Elements stay on their ranks;
/// the ranks at the edges own the zeros. No communication. PyLops: Pad.
template <Scalar T>
LinearOperator<T> pad(const Layout& layout, const std::vector<AxisPadding>& widths);

}  // namespace weft
