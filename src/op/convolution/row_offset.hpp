#pragma once

// For *_kernels.cpp files only.

#include <weft/kernel/for_each.hpp>

#include "op/convolution/padded_rows.hpp"

namespace weft::kernels {

/// Where the input of a row begins in the padded array.
WEFT_FUNCTION inline index_t row_offset(const PaddedRows& rows, index_t row) {
  index_t offset = 0;
  for (int axis = rows.ndim - 1; axis >= 0; --axis) {
    offset += row % rows.extents[axis] * rows.strides[axis];
    row /= rows.extents[axis];
  }
  return offset;
}

/// The position of a row along an axis before that of the rows.
WEFT_FUNCTION inline index_t row_coordinate(const PaddedRows& rows, index_t row, int axis) {
  for (int later = rows.ndim - 1; later > axis; --later) row /= rows.extents[later];
  return row % rows.extents[axis];
}

}  // namespace weft::kernels
