#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct FlipOptions {
  /// The axis to reverse.
  int axis = -1;
};

/// y[i] = x[n - 1 - i] along an axis of n elements; its own adjoint and inverse. Communication: one
/// all_to_all if the axis is distributed. PyLops: Flip.
template <Scalar T>
LinearOperator<T> flip(const Layout& layout, const FlipOptions& options = {});

}  // namespace weft
