#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct Fredholm1Options {
  /// Columns of the model: the extent of its last axis.
  index_t nz = 1;
  /// Replicate model and data on all ranks. Each apply then gathers its result.
  bool replicated = false;
};

/// Fredholm integral of the first kind, d[s] = G[s] m[s] for every slice s: a batch of matrix
/// products with a kernel G of shape [slices, nx, ny], a model of shape [slices, ny, nz] and data
/// of shape [slices, nx, nz]. PyLops: Fredholm1.
///
/// G may be distributed along its slices; model and data are then distributed in the same way.
/// Communication: none, or one all_gather if `replicated`. Move G into the call to avoid a copy.
template <Scalar T>
LinearOperator<T> fredholm1(DistributedArray<T> kernel, const Fredholm1Options& options = {});

}  // namespace weft
