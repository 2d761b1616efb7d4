#pragma once

// Copies of runs of elements along an axis, for axis_map.cpp.

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// to[o, to + i, k] = from[o, from + i step, k] for i < extent; step is 1 or -1.
struct DirectedRun {
  index_t from;
  index_t to;
  index_t extent;
  index_t step = 1;
};

/// Copies runs from an array [outer, from_extent, inner] to elements of [outer, to_extent, inner]
/// that no other run covers.
template <class Device, class T>
void copy_runs(Device device, const DirectedRun* runs, index_t count, index_t outer, index_t inner,
               const T* from, index_t from_extent, T* to, index_t to_extent);

}  // namespace weft::kernels
