#pragma once

#include <weft/op/linear_operator.hpp>

#include <array>
#include <initializer_list>
#include <span>

namespace weft {

/// y[i, ..] = x at positions[i] in the plane of its first two axes, from the four samples around
/// it: positions are fractions of sample indices within these axes, in any order, which may repeat.
/// All ranks pass the same positions. Forward and adjoint are gathers. PyLops: Bilinear, which
/// takes a 2 x n array.
///
/// The range has one axis of positions, then the other axes of the domain.
/// Communication: one all_to_all if the first axis is distributed. If another interpolated axis is,
/// one more moves the distribution to the first axis, along which positions are then distributed
/// evenly.
template <Scalar T>
LinearOperator<T> bilinear(const Layout& layout, std::span<const std::array<double, 2>> positions);
template <Scalar T>
LinearOperator<T> bilinear(const Layout& layout,
                           std::initializer_list<std::array<double, 2>> positions) {
  return bilinear<T>(layout, std::span(positions.begin(), positions.size()));
}

}  // namespace weft
