#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// A, with the results of its last applications: the last `max` pairs of forward, and as many of
/// the adjoint, are kept, and used again for inputs that are equal bit by bit on all ranks. All
/// memory is allocated at construction: max times that of two inputs and two outputs. PyLops:
/// MemoizeOperator.
///
/// Every application compares its input, and waits for the device to do so; on several ranks it
/// costs one allreduce of a number among all ranks, also if A is within groups of ranks. A must
/// always return the same result for the same input. 1 <= max <= 63.
template <Scalar D, Scalar R>
LinearOperator<D, R> memoize(const LinearOperator<D, R>& a, int max = 10);

}  // namespace weft
