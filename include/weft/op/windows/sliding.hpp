#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/windows/window_design.hpp>

#include <vector>

namespace weft {

struct WindowOptions {
  /// The extent of a window along each axis with windows: one for all, or one per axis.
  std::vector<index_t> window;
  /// The elements that a window shares with the next one, likewise. With a taper, at most half of
  /// the window.
  std::vector<index_t> overlap = {0};
  Taper taper = Taper::hanning;
  /// A factor for each window, in the order of the model; 1 if empty.
  std::vector<double> scalings = {};
};

/// Applies an operator in overlapping windows of an array and adds the tapered results:
///
///     y = sum over windows i of  R_iᵀ T_i s_i A x[i]
///
/// where R_i extracts window i from the array, T_i are the weights of the taper and s_i is a
/// scaling. The array has the layout `data`. Windows lie along the given axes, and contain all
/// elements along the others; they must cover the array exactly (see window_design).
///
/// A maps the model of one window to its data: a local layout on the device of `data`, with as many
/// elements in the range as a window, in row-major order. All ranks pass the same operator. The
/// model x has the shape [windows along the first of `axes`, ..., shape of A's domain].
///
/// The array may be distributed along one axis, which must be one of `axes`. The model is then
/// distributed along the same axis: a window belongs to the rank that has its middle, element
/// window / 2. Communication: one message to each rank that has elements of this rank's windows
/// (forward), or whose windows have elements of this rank (adjoint). That is one per neighbour if
/// parts are not shorter than half a window, and does not depend on the number of windows.
///
/// Sums are in the order of windows, and of ranks. Memory: the data of all windows of this rank.
template <Scalar D, Scalar R>
LinearOperator<D, R> sliding(const Layout& data, const LinearOperator<D, R>& a,
                             const std::vector<int>& axes, const WindowOptions& options);
/// Windows along all axes.
template <Scalar D, Scalar R>
LinearOperator<D, R> patch(const Layout& data, const LinearOperator<D, R>& a,
                           const WindowOptions& options);

// The names of PyLops, for arrays with as many axes as they say.

/// Windows along the only axis. PyLops: Sliding1D.
template <Scalar D, Scalar R>
LinearOperator<D, R> sliding1d(const Layout& data, const LinearOperator<D, R>& a,
                               const WindowOptions& options);
/// Windows along the first of two axes. PyLops: Sliding2D.
template <Scalar D, Scalar R>
LinearOperator<D, R> sliding2d(const Layout& data, const LinearOperator<D, R>& a,
                               const WindowOptions& options);
/// Windows along the first two of three axes. PyLops: Sliding3D.
template <Scalar D, Scalar R>
LinearOperator<D, R> sliding3d(const Layout& data, const LinearOperator<D, R>& a,
                               const WindowOptions& options);
/// Windows along both axes. PyLops: Patch2D.
template <Scalar D, Scalar R>
LinearOperator<D, R> patch2d(const Layout& data, const LinearOperator<D, R>& a,
                             const WindowOptions& options);
/// Windows along all three axes. PyLops: Patch3D.
template <Scalar D, Scalar R>
LinearOperator<D, R> patch3d(const Layout& data, const LinearOperator<D, R>& a,
                             const WindowOptions& options);

}  // namespace weft
