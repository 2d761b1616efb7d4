#pragma once

#include <weft/array/axis_padding.hpp>
#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

/// Surrounds an array with zeros; `widths` has one entry per axis. Elements stay on their ranks,
/// and the ranks at the edges get the zeros. No messages.
template <Scalar T>
LinearOperator<T> pad(const Layout& layout, const std::vector<AxisPadding>& widths);

}  // namespace weft
