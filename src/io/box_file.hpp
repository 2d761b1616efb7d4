#pragma once

// Arrays in files, of which each rank reads and writes its own part.

#include "io/file.hpp"

namespace weft::detail {

/// f(where in the array, where in the box, how many) for the elements of a box, in runs that are
/// contiguous in both and as long as can be.
template <class F>
void for_each_run(const Shape& shape, const Box& box, F f) {
  const index_t count = box.shape.count();
  if (count == 0) return;
  // A run takes in the last axes, as long as those behind are whole.
  int first = shape.ndim();
  while (first > 0 && (first == shape.ndim() || box.shape[first] == shape[first])) --first;
  const index_t run = box.shape.count(first, shape.ndim());
  Index at = box.offset;
  for (index_t done = 0; done < count; done += run) {
    f(linear(shape, at), done, run);
    for (int axis = first - 1; axis >= 0; --axis) {
      if (++at[axis] < box.end(axis)) break;
      at[axis] = box.offset[axis];
    }
  }
}

/// The elements of a box, one after the other in memory, and at their places in an array of
/// `shape` that begins at an offset of the file. An element has `element` bytes.
void write_box(const File& file, const Shape& shape, const Box& box, index_t offset,
               const void* data, index_t element);
void read_box(const File& file, const Shape& shape, const Box& box, index_t offset, void* data,
              index_t element);

}  // namespace weft::detail
