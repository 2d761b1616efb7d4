#pragma once

#include <weft/core/shape.hpp>

namespace weft::detail {

/// The index space [outer, n, inner] of kernels that work along one axis of n elements.
struct AxisExtents {
  index_t outer;
  index_t n;
  index_t inner;

  AxisExtents(const Shape& shape, int axis)
      : outer(shape.count(0, axis)), n(shape[axis]), inner(shape.count(axis + 1, shape.ndim())) {}
};

}  // namespace weft::detail
