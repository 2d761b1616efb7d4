#pragma once

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

// Extraction and overlap-add of windows. The windows of a rank are one array: a window after the
// other, each in row-major order.

namespace weft::kernels {

/// An axis of the data. An axis without windows is one window of its whole extent.
template <class W>
struct WindowAxis {
  index_t window = 1;  // extent of a window
  index_t step = 1;
  index_t first = 0;           // the first window of this rank
  index_t count = 1;           // windows of this rank
  index_t total = 1;           // windows of all ranks
  index_t window_stride = 0;   // in the array of windows, from one window to the next
  index_t element_stride = 1;  // and from one element of a window to the next
  /// Weights of windows that are not at an end of the axis, at its beginning, at its end, and at
  /// both: [4, window]. Null if all are 1.
  const W* weights = nullptr;
};

template <class W>
struct WindowGrid {
  int ndim = 0;
  WindowAxis<W> axes[max_dims];
};

/// A box of the data: the elements from `begin` on, of which the first is at `data`. Elements along
/// the last axis are adjacent in memory.
template <class T>
struct DataBox {
  T* data = nullptr;
  index_t begin[max_dims] = {};
  index_t extent[max_dims] = {};
  index_t stride[max_dims] = {};
};

/// box[p] = alpha sum over the windows that contain p of weight * window[p] + beta box[p], in the
/// order of the windows. With beta = 0, the box is not read.
template <class Device, class T>
void overlap_add(Device device, const WindowGrid<RealOf<T>>& grid, const T* windows, T alpha,
                 T beta, const DataBox<T>& box);

/// window[p] = weight * box[p] for the elements p of all windows that are in the box.
template <class Device, class T>
void extract_windows(Device device, const WindowGrid<RealOf<T>>& grid, const DataBox<const T>& box,
                     T* windows);

}  // namespace weft::kernels
