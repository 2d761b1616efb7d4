#pragma once

// Copies of runs of elements along an axis, which may be reversed, add to others and come from
// other ranks: the node behind flip.cpp, roll.cpp and symmetrize.cpp.

#include <weft/op/linear_operator.hpp>

#include "op/basic/axis_map_kernels.hpp"

#include <string>
#include <vector>

namespace weft::detail {

using kernels::DirectedRun;

/// The sum of runs of elements of x along an axis. Runs cover each element of y once. Runs of the
/// adjoint may overlap in x, where they are added; the first run then covers all of x.
/// Communication: one all_to_all among the ranks along the axis if it is distributed.
/// `is_permutation`: AᴴA = I.
template <Scalar T>
LinearOperator<T> axis_map(std::string name, const Layout& domain, const Layout& range, int axis,
                           const std::vector<DirectedRun>& runs, bool is_permutation);

}  // namespace weft::detail
