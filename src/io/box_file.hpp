#pragma once

// Arrays in files, of which each rank reads and writes its own part.

#include "io/file.hpp"

#include <functional>

namespace weft::detail {

/// The elements of a box in runs that are contiguous in it and in the array, as long as can be.
class Runs {
 public:
  Runs(const Shape& shape, const Box& box);

  index_t count() const { return count_; }
  index_t length() const { return length_; }
  /// Where in the array a run begins. In the box, they follow one another.
  index_t place(index_t run) const;

 private:
  Shape shape_;
  Box box_;
  int first_ = 0;  // axis that runs take in, and all after it
  index_t length_ = 0;
  index_t count_ = 0;
};

/// f(where in the array, where in the box, how many) for all runs, one after the other.
template <class F>
void for_each_run(const Shape& shape, const Box& box, F f) {
  const Runs runs(shape, box);
  for (index_t run = 0; run < runs.count(); ++run) {
    f(runs.place(run), run * runs.length(), runs.length());
  }
}

/// The same for pieces of all runs, shared among threads.
/// Throws what the first piece throws that fails.
void share_pieces(const Runs& runs, const std::function<void(index_t, index_t, index_t)>& f);

/// The elements of a box, one after the other in memory, and at their places in an array of
/// `shape` that begins at an offset of the file. An element has `element` bytes.
void write_box(const File& file, const Shape& shape, const Box& box, index_t offset,
               const void* data, index_t element);
void read_box(const File& file, const Shape& shape, const Box& box, index_t offset, void* data,
              index_t element);

}  // namespace weft::detail
