#pragma once

// Arrays in files: each rank reads and writes its own part.

#include "io/file.hpp"

#include <functional>

namespace weft::detail {

/// Splits a box into the longest runs that are contiguous both in the box and in the array.
class Runs {
 public:
  Runs(const Shape& shape, const Box& box);

  index_t count() const { return count_; }
  index_t length() const { return length_; }
  /// The position in the array at which a run begins. In the box, runs are consecutive.
  index_t place(index_t run) const;

 private:
  Shape shape_;
  Box box_;
  int first_ = 0;  // first axis that runs span
  index_t length_ = 0;
  index_t count_ = 0;
};

/// Calls f(position in the array, position in the box, length) for all runs in order.
template <class F>
void for_each_run(const Shape& shape, const Box& box, F f) {
  const Runs runs(shape, box);
  for (index_t run = 0; run < runs.count(); ++run) {
    f(runs.place(run), run * runs.length(), runs.length());
  }
}

/// The same for pieces of runs, in parallel. Rethrows the exception of the first piece that fails.
void share_pieces(const Runs& runs, const std::function<void(index_t, index_t, index_t)>& f);

/// Copies between the contiguous elements of a box in memory and an array of `shape` that begins at
/// an offset of the file. An element has `element` bytes.
void write_box(const File& file, const Shape& shape, const Box& box, index_t offset,
               const void* data, index_t element);
void read_box(const File& file, const Shape& shape, const Box& box, index_t offset, void* data,
              index_t element);

}  // namespace weft::detail
