#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct RollOptions {
  /// The axis to shift along.
  int axis = -1;
  /// Number of positions that elements move towards the end; negative: towards the beginning.
  index_t shift = 1;
};

/// Circular shift along an axis of n elements: y[(i + shift) mod n] = x[i], as in numpy.roll. The
/// adjoint is the inverse. Communication: one all_to_all if the axis is distributed. PyLops: Roll.
template <Scalar T>
LinearOperator<T> roll(const Layout& layout, const RollOptions& options = {});

}  // namespace weft
