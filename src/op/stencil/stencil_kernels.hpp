#pragma once

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

namespace weft::kernels {

/// As StencilMatrix has them.
inline constexpr int stencil_reach = 2;
inline constexpr int stencil_width = 2 * stencil_reach + 1;

/// A stencil matrix along one axis of a rank's part of an array, whose result is added to an
/// output.
template <class T>
struct StencilTerm {
  int axis;
  int input;
  int output;
  // Ghost cells of the input: [outer, width, inner] around the axis.
  const T* before;
  const T* after;
  index_t before_width;
  index_t after_width;
  /// Rows of the matrix, on the device: those before `head`, those from `tail` on, and the one in
  /// between, which comes after these special ones.
  const RealOf<T>* rows;
  index_t first;  // row of the matrix at the beginning of the part
  index_t head;
  index_t tail;
  index_t special_rows;
  // The row in between once more, and how far it reaches.
  RealOf<T> interior[stencil_width];
  index_t reach_before;
  index_t reach_after;
};

/// An element of an input, `shift` from the one that is computed, times a weight.
template <class T>
struct StencilTap {
  int input;
  index_t shift;
  RealOf<T> weight;
  const T* from;  // the input and the shift; set for each run
};

/// Sums of stencil matrices along the axes of one part, all that are needed to compute it in one
/// pass. Axes that no term works along are merged with their neighbours, as far as that is
/// possible.
template <class T>
struct StencilPlan {
  static constexpr int max_taps = max_dims * stencil_width;

  int axes;
  index_t extents[max_dims];
  index_t strides[max_dims];
  int inputs;
  int outputs;
  int terms;
  StencilTerm<T> term[max_dims];  // those along the last axis at the end
  /// In the box from core_begin to core_end all matrices have their interior rows and need no ghost
  /// cells: output o is there the sum of taps [o * taps, (o + 1) * taps). The last of them, after
  /// those `across`, are of the term along the last axis.
  index_t core_begin[max_dims];
  index_t core_end[max_dims];
  int taps;
  int across[max_dims];
  StencilTap<T> tap[max_taps];
  // Set for each run.
  const T* x[max_dims];
  T* y[max_dims];
};

/// Part of a part.
struct StencilBox {
  index_t begin[max_dims];
  index_t end[max_dims];
};

/// y = alpha (sum of terms) + beta y in a box, for all outputs; with beta = 0, y is not read.
template <class Device, class T>
void apply_stencils(Device device, const StencilPlan<T>& plan, const StencilBox& box, T alpha,
                    T beta);

}  // namespace weft::kernels
