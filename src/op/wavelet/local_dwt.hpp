#pragma once

// Levels of wavelet transforms along axes that are not distributed, as operators; steps of dwt.cpp.

#include <weft/op/linear_operator.hpp>

#include "op/wavelet/filters.hpp"

#include <vector>

namespace weft::detail {

/// Splits the first corner[axis] elements along every axis, of the global array, `levels` times
/// along `axes`, which are not distributed; elements outside of the corner are unchanged. Extents
/// of the corner along `axes` are multiples of 2^levels.
template <Scalar T>
LinearOperator<T> local_dwt(const Layout& layout, const Shape& corner, const std::vector<int>& axes,
                            int levels, const WaveletFilters& filters);

}  // namespace weft::detail
