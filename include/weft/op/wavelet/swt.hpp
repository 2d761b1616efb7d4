#pragma once

#include <weft/op/linear_operator.hpp>

#include <string>

namespace weft {

struct SwtOptions {
  /// haar, db1 to db20, sym2 to sym20, or biorN.M; see wavelet_names.
  std::string wavelet = "haar";
  int axis = -1;
  /// Number of times that approximations are split.
  int level = 1;
};

/// Stationary (undecimated) wavelet transform along an axis, which is extended with zeros to a
/// multiple of 2^level elements and then periodic. Level l = 1, 2, ... splits the n approximations
/// x of the level before into n approximations and n details,
///   a[k] = sum over t of lo[t] / sqrt(2) x[(k + 2^(l-1) (F/2 - t)) mod n], and d[k] likewise,
/// with the filters of dwt. The range is a stack of arrays: approximations of the last level, then
/// details from the last level to the first. For orthogonal wavelets AᴴA is the identity on the
/// extended axis. As PyWavelets' swt with trim_approx and norm. PyLops: SWT.
///
/// Communication: one all_to_all if the axis is distributed, and one per array of the stack.
template <Scalar T>
LinearOperator<T> swt(const Layout& layout, const SwtOptions& options = {});

}  // namespace weft
