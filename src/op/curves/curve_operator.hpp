#pragma once

// Sums along curves: the node behind spread.cpp, for any operator that scatters model samples along
// curves through columns of data and gathers them in its adjoint.

#include <weft/op/curves/spread.hpp>

#include <functional>
#include <string>

namespace weft::detail {

/// The position where the curve of a model sample crosses a column of the data; samples and columns
/// are counted in row-major order.
using CurvePosition = std::function<double(index_t sample, index_t column)>;

/// y[column, it] = sum of x[sample] over the curves that cross the column at it. The last axis of
/// the range is that of it; all others are columns. The domain is replicated over the ranks of the
/// range, which is replicated or distributed along its first axes. `who` names the operator in
/// errors.
template <Scalar T>
LinearOperator<T> curve_operator(const char* who, const Layout& domain, const Layout& range,
                                 const CurvePosition& position, const SpreadOptions& options);

}  // namespace weft::detail
