#pragma once

// Extents of the axes of multilevel transforms.

#include <weft/core/error.hpp>
#include <weft/op/linear_operator.hpp>

#include "op/axis_layout.hpp"
#include "op/basic/rearrange.hpp"

#include <vector>

namespace weft::detail {

/// Elements of an axis, extended to a multiple of 2^level.
inline index_t rounded_up(index_t n, int level) {
  const index_t step = index_t{1} << level;
  return (n + step - 1) / step * step;
}

/// The same, after checks of the level and the axis.
inline index_t padded_extent(const Shape& shape, int axis, int level, const char* who) {
  constexpr int most_levels = 30;
  require(level >= 1 && level <= most_levels, "{}: level must be from 1 to {}, got {}", who,
          most_levels, level);
  require(shape[axis] > 0, "{}: axis {} of {} is empty", who, axis, to_string(shape));
  return rounded_up(shape[axis], level);
}

/// Extends axes that are not distributed with zeros.
template <Scalar T>
LinearOperator<T> pad_for_levels(const Layout& layout, const std::vector<int>& axes, int level) {
  Layout range = layout;
  std::vector<std::vector<Run>> runs(static_cast<std::size_t>(layout.ndim()));
  for (const int axis : axes) {
    const index_t n = layout.shape()[axis];
    range = resize_axis(range, axis, rounded_up(n, level));
    runs[static_cast<std::size_t>(axis)] = {{0, 0, n}};
  }
  return rearrange<T>(layout, range, runs);
}

}  // namespace weft::detail
