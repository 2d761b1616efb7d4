#pragma once

#include <weft/op/linear_operator.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>

namespace weft {

enum class InterpKind : std::uint8_t {
  nearest,       // the nearest sample; of two, the one with the even index
  linear,        // between the two samples around the position
  sinc,          // sum over all samples j of sinc(t - j) x[j], for signals without aliasing
  cubic_spline,  // the natural cubic spline through all samples
};

struct InterpOptions {
  /// The axis that positions belong to.
  int axis = -1;
  InterpKind kind = InterpKind::linear;
};

/// y[i] = x at positions[i] along an axis of n samples, interpolated: positions are fractions of
/// sample indices between 0 and n - 1, in any order, which may repeat. All ranks pass the same
/// positions. Forward and adjoint are gathers: the adjoint sums, for each sample, over the
/// positions that read it, in their order. PyLops: Interp, which refuses repeated positions and
/// moves those outside the axis; here these are an error.
///
/// The range has as many elements along the axis as there are positions; if the axis is
/// distributed, they are distributed evenly, or, if there are n of them, as the samples are.
/// Communication along a distributed axis: one all_to_all of the samples that ranks read from
/// others, or two all_to_alls of the whole array for cubic_spline, which solves arrays of one axis
/// on one rank.
///
/// sinc takes memory and time in proportion to n times the number of positions.
template <Scalar T>
LinearOperator<T> interp(const Layout& layout, std::span<const double> positions,
                         const InterpOptions& options = {});
template <Scalar T>
LinearOperator<T> interp(const Layout& layout, std::initializer_list<double> positions,
                         const InterpOptions& options = {}) {
  return interp<T>(layout, std::span(positions.begin(), positions.size()), options);
}

}  // namespace weft
