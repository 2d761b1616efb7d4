#pragma once

// Rows of an array whose input is padded with ghost cells along some axes.

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// A rank's part of an array as rows: contiguous pieces along the last padded axis and those after
/// it. The input of a row begins at offset() in the padded array and is contiguous as well.
struct PaddedRows {
  int ndim = 0;  // axes before that of the rows
  index_t count = 1;
  index_t length = 1;
  index_t extents[max_dims] = {};
  index_t strides[max_dims] = {};  // of these axes in the padded array
};

}  // namespace weft::kernels

namespace weft::detail {

/// `row_axis` is the last axis along which `padded` is larger than `local`.
inline kernels::PaddedRows padded_rows(const Shape& local, const Shape& padded, int row_axis) {
  kernels::PaddedRows rows;
  rows.ndim = row_axis;
  rows.count = local.count(0, row_axis);
  rows.length = local.count(row_axis, local.ndim());
  for (int axis = 0; axis < row_axis; ++axis) {
    rows.extents[axis] = local[axis];
    rows.strides[axis] = padded.count(axis + 1, padded.ndim());
  }
  return rows;
}

}  // namespace weft::detail
