#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// y = x in row-major order under another shape and cut. The layouts have as many elements and the
/// same groups of ranks, and are not stacks. The adjoint is the inverse. Communication: one
/// all_to_all, or none if every rank already has its elements; see reshapes_in_place().
template <Scalar T>
LinearOperator<T> reshape(const Layout& from, const Layout& to);

}  // namespace weft
