#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// y = x in the memory of each rank, under a layout that gives every rank as many elements: each
/// rank's part, taken in row-major order, becomes its part of y. Layouts may be stacks. The adjoint
/// is the inverse. No communication.
///
/// Both layouts are replicated, or neither is and both have the same groups of ranks: otherwise the
/// inverse would not be the adjoint.
template <Scalar T>
LinearOperator<T> relabel(const Layout& from, const Layout& to);

}  // namespace weft
