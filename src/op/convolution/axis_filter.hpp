#pragma once

#include <weft/op/linear_operator.hpp>

#include <string>
#include <vector>

namespace weft::detail {

/// The rows of a matrix along an axis that is zero but for `taps` diagonals: in row i, coefficient
/// t belongs to column i + t - first.
template <Scalar T>
struct FilterRows {
  index_t taps;
  index_t first;
  /// One per tap for all rows; or, if they vary, [tap, row] for the rows of this rank.
  std::vector<T> coefficients;
  bool vary = false;
};

/// Such a matrix applied along an axis; its rows and those of its adjoint, which reach less far
/// than the extent of the axis. One exchange of halos where the axis is cut.
template <Scalar T>
LinearOperator<T> axis_filter(std::string name, const Layout& layout, int axis,
                              const FilterRows<T>& rows, const FilterRows<T>& adjoint_rows);

}  // namespace weft::detail
