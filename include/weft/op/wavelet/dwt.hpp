#pragma once

#include <weft/op/linear_operator.hpp>

#include <string>
#include <vector>

namespace weft {

struct DwtOptions {
  /// haar, db1 to db20, sym2 to sym20, or biorN.M; see wavelet_names.
  std::string wavelet = "haar";
  int axis = -1;
  /// Number of times that approximations are split.
  int level = 1;
  /// Use the dual wavelet, with the filters of the reconstruction reversed in time: the adjoint of
  /// the dual transform is the inverse of the transform, up to the zero padding. Orthogonal
  /// wavelets (all but biorN.M) are their own duals.
  bool dual = false;
};

/// Options of transforms along several axes; see DwtOptions.
struct DwtNdOptions {
  std::string wavelet = "haar";
  /// The axes to transform; by default all axes of the array.
  std::vector<int> axes = {};
  int level = 1;
  bool dual = false;
};

/// Multilevel discrete wavelet transform along an axis, which is extended with zeros to a multiple
/// of 2^level elements and then periodic. One level splits m elements x into m/2 approximations and
/// m/2 details,
///   a[k] = sum over t of lo[t] x[(2k + F/2 - t) mod m], and d[k] likewise with hi,
/// with decomposition filters lo and hi of F taps; the next level splits a. The result is
/// [a of the last level, d of the last level, ..., d of the first level], as of PyWavelets with
/// mode 'periodization'. The adjoint is the transpose; for orthogonal wavelets this is the inverse.
/// PyLops: DWT, whose adjoint is the inverse for all wavelets, and which extends to powers of two.
///
/// Communication: two all_to_alls if the axis is distributed, otherwise none.
template <Scalar T>
LinearOperator<T> dwt(const Layout& layout, const DwtOptions& options = {});

/// Wavelet transform along several axes: each level splits the block of approximations along all of
/// them. PyLops: DWTND.
///
/// Communication: one all_to_all for each distributed axis and one to return, if an axis that is
/// not transformed can be distributed instead; otherwise one per level, or a few with several
/// distributed axes, and one to return.
template <Scalar T>
LinearOperator<T> dwtnd(const Layout& layout, const DwtNdOptions& options = {});

/// dwtnd along two axes, by default the last two. PyLops: DWT2D.
template <Scalar T>
LinearOperator<T> dwt2d(const Layout& layout, DwtNdOptions options = {});

/// The names of all wavelets.
std::vector<std::string> wavelet_names();

}  // namespace weft
