#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct SumAlongOptions {
  int axis = -1;
};

/// Sums up along an axis, which the range does not have any more. Where the axis is cut, one
/// allreduce among the ranks of a line. The adjoint spreads without messages.
template <Scalar T>
LinearOperator<T> sum_along(const Layout& layout, const SumAlongOptions& options = {});

}  // namespace weft
