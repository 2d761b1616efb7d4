#pragma once

// The interface between stencil_operator.cpp, which makes plans, and stencil_kernels.cpp, which
// runs them on a device.

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

namespace weft::kernels {

/// The longest reach and width of the rows of a StencilMatrix.
inline constexpr int stencil_reach = 4;
inline constexpr int stencil_width = 2 * stencil_reach + 1;
/// Rows that reach no further are computed by faster code.
inline constexpr int narrow_reach = 2;

/// A stencil matrix along one axis of a rank's part: output += matrix * input.
template <class T>
struct StencilTerm {
  int axis;
  int input;
  int output;
  int reach;  // of all rows
  // Ghost cells of the input, [outer, width, inner] with respect to the axis.
  const T* before;
  const T* after;
  index_t before_width;
  index_t after_width;
  /// Rows of the matrix in device memory, stencil_width coefficients each: the special rows before
  /// `head` and from `tail` on, then the interior row.
  const RealOf<T>* rows;
  index_t first;  // matrix row of the first element of the part
  index_t head;
  index_t tail;
  index_t special_rows;
  // A copy of the interior row, and its reach.
  RealOf<T> interior[stencil_width];
  index_t reach_before;
  index_t reach_after;
};

/// weight * input[i + shift], a contribution to output[i].
template <class T>
struct StencilTap {
  int input;
  index_t shift;
  RealOf<T> weight;
  const T* from;  // input + shift; set by every run
};

/// A sum of stencil matrices along the axes of a rank's part. Adjacent axes without a term are
/// merged into one.
template <class T>
struct StencilTerms {
  int axes;
  index_t extents[max_dims];
  index_t strides[max_dims];
  int inputs;
  int outputs;
  int terms;
  StencilTerm<T> term[max_dims];  // in order of axis
  // Inputs and outputs, set by every run.
  const T* x[max_dims];
  T* y[max_dims];
};

/// How the sum is computed in one pass.
template <class T>
struct StencilPlan : StencilTerms<T> {
  static constexpr int max_taps = max_dims * stencil_width;

  /// The core is the box [core_begin, core_end) where all matrices have their interior rows and
  /// read no ghost cells. There, output o is the sum of taps [o * taps, (o + 1) * taps): first
  /// across[o] taps of terms across the last axis, then those of the term along it.
  index_t core_begin[max_dims];
  index_t core_end[max_dims];
  int taps;
  int across[max_dims];
  StencilTap<T> tap[max_taps];
};

/// A box of points of a part.
struct StencilBox {
  index_t begin[max_dims];
  index_t end[max_dims];
};

/// y = alpha (sum of terms) + beta y for all outputs and all points of a box; with beta = 0, y is
/// not read.
template <class Device, class T>
void apply_stencils(Device device, const StencilPlan<T>& plan, const StencilBox& box, T alpha,
                    T beta);

}  // namespace weft::kernels
