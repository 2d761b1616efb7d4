#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct SumAlongOptions {
  /// The axis to sum over.
  int axis = -1;
};

/// y = sum over i of x[.., i, ..] along an axis, which the range lacks. Communication: one
/// allreduce among the ranks along the axis if it is distributed. The adjoint broadcasts y along
/// the axis and needs none. PyLops: Sum.
template <Scalar T>
LinearOperator<T> sum_along(const Layout& layout, const SumAlongOptions& options = {});

}  // namespace weft
