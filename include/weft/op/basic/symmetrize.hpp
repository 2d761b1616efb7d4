#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct SymmetrizeOptions {
  /// The axis to mirror.
  int axis = -1;
};

/// Extends an axis of n elements to 2 n - 1, mirrored about element 0: y[n - 1 + i] = y[n - 1 - i]
/// = x[i]. The adjoint adds both halves: x[0] = y[n - 1], x[i] = y[n - 1 + i] + y[n - 1 - i].
///
/// A distributed axis is distributed evenly in the range. Communication: one all_to_all if the axis
/// is distributed. PyLops: Symmetrize.
template <Scalar T>
LinearOperator<T> symmetrize(const Layout& layout, const SymmetrizeOptions& options = {});

}  // namespace weft
