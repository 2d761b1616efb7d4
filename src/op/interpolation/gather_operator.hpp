#pragma once

// The node behind all interpolation operators: products with sparse matrices along an axis.

#include <weft/op/linear_operator.hpp>

#include "op/interpolation/gather_matrix.hpp"

#include <string>

namespace weft::detail {

/// y[.., i, ..] = sum over j of A[i, j] x[.., j, ..], where j counts the positions along `merged`
/// axes of the domain from `axis` on as one axis, in row-major order, and i those along axis `axis`
/// of the range. Only the first of the merged axes may be distributed, and the range must have the
/// ranks of the domain in the same cells of its grid.
///
/// Forward and adjoint gather what each rank reads from others, in one all_to_all if any rank does,
/// and sum over entries in the order of the matrix: results do not depend, bit by bit, on threads
/// or on how the axis is distributed.
template <Scalar T>
LinearOperator<T> gather_operator(const std::string& name, const Layout& domain,
                                  const Layout& range, int axis, int merged,
                                  const GatherMatrix& matrix);

}  // namespace weft::detail
