#pragma once

// The order in which kernels visit the points of a box in two strided arrays, and the simplest
// thing to do there; for box_kernels.cpp only.

#include <weft/core/shape.hpp>
#include <weft/kernel/for_each.hpp>

#include <utility>

namespace weft::kernels {

/// The loops over a box, the innermost last. Axes that are contiguous in both arrays share a loop.
struct BoxLoops {
  Index extent;
  Index from;
  Index to;
  int depth = 0;

  index_t rows() const {
    index_t product = 1;
    for (int level = 0; level + 1 < depth; ++level) product *= extent[level];
    return product;
  }
  /// The innermost loop is contiguous in both arrays.
  bool has_runs() const { return from[depth - 1] == 1 && to[depth - 1] == 1; }
  void swap_levels(int a, int b) {
    std::swap(extent[a], extent[b]);
    std::swap(from[a], from[b]);
    std::swap(to[a], to[b]);
  }
};

inline BoxLoops plan_loops(const Shape& shape, const Index& from_strides, const Index& to_strides) {
  BoxLoops loops;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (shape[axis] == 1) continue;
    const int last = loops.depth - 1;
    if (last >= 0 && loops.from[last] == shape[axis] * from_strides[axis] &&
        loops.to[last] == shape[axis] * to_strides[axis]) {
      loops.extent[last] *= shape[axis];
      loops.from[last] = from_strides[axis];
      loops.to[last] = to_strides[axis];
      continue;
    }
    loops.extent[loops.depth] = shape[axis];
    loops.from[loops.depth] = from_strides[axis];
    loops.to[loops.depth] = to_strides[axis];
    ++loops.depth;
  }
  if (loops.depth == 0) {
    loops.extent[0] = loops.from[0] = loops.to[0] = 1;
    loops.depth = 1;
  }
#if !defined(__CUDACC__)
  // Make the longest loop the innermost of a thin box, such as a halo along the last axis. On a
  // GPU, adjacent threads need adjacent memory instead.
  const int last = loops.depth - 1;
  if (loops.extent[last] < 16) {
    int longest = last;
    for (int level = 0; level < last; ++level) {
      if (loops.extent[level] > loops.extent[longest]) longest = level;
    }
    for (int level = longest; level < last; ++level) loops.swap_levels(level, level + 1);
  }
#endif
  return loops;
}

/// Rows and columns of a tile in a transposition.
#if defined(__CUDACC__)
constexpr index_t tile = 32;
#else
constexpr index_t tile = 8;  // larger tiles, and tiles copied through a buffer, were slower
#endif

/// Makes a long loop that is contiguous in `to` the innermost, and one that is contiguous in `from`
/// the next; false if there are no such loops.
inline bool make_transposition(BoxLoops& loops) {
  int in_from = -1;
  int in_to = -1;
  for (int level = 0; level < loops.depth; ++level) {
    if (loops.extent[level] < tile) continue;
    if (loops.from[level] == 1 && loops.to[level] != 1) in_from = level;
    if (loops.to[level] == 1 && loops.from[level] != 1) in_to = level;
  }
  if (in_from < 0 || in_to < 0) return false;
  loops.swap_levels(in_to, loops.depth - 1);
  if (in_from == loops.depth - 1) in_from = in_to;
  loops.swap_levels(in_from, loops.depth - 2);
  return true;
}

struct Assign {
  template <class T>
  WEFT_FUNCTION void operator()(const T& source, T& target) const {
    target = source;
  }
};

}  // namespace weft::kernels
