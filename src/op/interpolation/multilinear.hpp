#pragma once

// Linear interpolation along several axes: bilinear.cpp and trilinear.cpp.

#include <weft/op/linear_operator.hpp>

#include <span>

namespace weft::detail {

/// Interpolation along the first `axes` axes, with as many coordinates per position.
template <Scalar T>
LinearOperator<T> multilinear(const Layout& layout, std::span<const double> positions, int axes,
                              const char* who);

}  // namespace weft::detail
