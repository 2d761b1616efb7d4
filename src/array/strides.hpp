#pragma once

#include <weft/core/shape.hpp>

namespace weft::detail {

/// The strides of a row-major array.
inline Index strides_of(const Shape& shape) {
  Index strides = shape;
  index_t step = 1;
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

/// The position in memory of a point relative to the origin of an array.
inline index_t offset_at(const Index& strides, const Index& at) {
  index_t offset = 0;
  for (int axis = 0; axis < strides.ndim(); ++axis) offset += strides[axis] * at[axis];
  return offset;
}

/// The position of a global point in the memory of a box.
inline index_t offset_in(const Box& box, const Index& at) {
  Index relative = at;
  for (int axis = 0; axis < at.ndim(); ++axis) relative[axis] -= box.offset[axis];
  return offset_at(strides_of(box.shape), relative);
}

}  // namespace weft::detail
