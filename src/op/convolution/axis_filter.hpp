#pragma once

// Banded matrices along an axis: the node behind convolve1d.cpp (direct method) and
// non_stationary_convolve1d.cpp.

#include <weft/op/linear_operator.hpp>

#include <string>
#include <vector>

namespace weft::detail {

/// A banded matrix with `taps` diagonals: in row i, coefficient t is that of column i + t - first.
template <Scalar T>
struct FilterRows {
  index_t taps;
  index_t first;
  /// One per tap, common to all rows; if they vary, [tap, row] for the rows of this rank.
  std::vector<T> coefficients;
  bool vary = false;
};

/// y = A x along an axis, for a banded matrix A given by its rows and the rows of its adjoint,
/// which must not reach further than the extent of the axis. Communication: one halo exchange if
/// the axis is distributed.
template <Scalar T>
LinearOperator<T> axis_filter(std::string name, const Layout& layout, int axis,
                              const FilterRows<T>& rows, const FilterRows<T>& adjoint_rows);

}  // namespace weft::detail
