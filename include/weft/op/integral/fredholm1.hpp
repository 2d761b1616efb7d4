#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct Fredholm1Options {
  /// Columns that each slice is multiplied with.
  index_t nz = 1;
  /// Every rank has the whole model and the whole data. One gather of the result.
  bool replicated = false;
};

/// d[s] = G[s] m[s] for every slice s: a Fredholm integral of the first kind, with a kernel G of
/// shape [slices, nx, ny], a model of shape [slices, ny, nz] and data of shape [slices, nx, nz]. G
/// may be cut along its slices; model and data are then cut in the same way, and no messages are
/// sent, unless they are asked to be replicated.
///
/// Moving G into it saves a copy.
template <Scalar T>
LinearOperator<T> fredholm1(DistributedArray<T> kernel, const Fredholm1Options& options = {});

}  // namespace weft
