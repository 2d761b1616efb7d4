#pragma once

#include <weft/array/halo_exchange.hpp>
#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct HaloOperatorOptions {
  Boundary boundary = Boundary::zero;
  /// Omit the ghost cells outside the global array instead of filling them with zeros.
  bool trim = false;
};

/// Extends each rank's part by ghost cells, with one width (before, after) per axis. Communication:
/// one message to each neighbour. The adjoint sums all copies of an element. PyLops-MPI: MPIHalo.
///
/// The range has the same grid of ranks with the extended parts next to each other, so that its
/// extents are the sums of theirs. Ranks without elements get no ghost cells.
template <Scalar T>
LinearOperator<T> halo(const Layout& layout, const std::vector<AxisPadding>& widths,
                       const HaloOperatorOptions& options = {});

}  // namespace weft
