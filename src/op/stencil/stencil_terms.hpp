#pragma once

// A stencil at a point near an edge, for the files that stencil_kernels.cpp includes only.

#include "kernel/kernel_math.hpp"
#include "op/stencil/stencil_kernels.hpp"

namespace weft::kernels {

/// The coefficients of the row at place i of the part.
template <class T>
WEFT_FUNCTION const RealOf<T>* row_at(const StencilTerm<T>& term, index_t i) {
  const index_t row = term.first + i;
  const index_t number = row < term.head    ? row
                         : row >= term.tail ? term.head + row - term.tail
                                            : term.special_rows;
  return term.rows + number * stencil_width;
}

/// The element that is d further along the term's axis than the one at `point`, whose place along
/// it is i.
template <class T>
WEFT_FUNCTION const T* neighbour(const StencilPlan<T>& plan, const StencilTerm<T>& term,
                                 index_t point, index_t i, int d) {
  const index_t extent = plan.extents[term.axis];
  const index_t stride = plan.strides[term.axis];
  const index_t j = i + d;
  if (j >= 0 && j < extent) return plan.x[term.input] + point + d * stride;
  const index_t outer = point / (extent * stride);
  const index_t inner = point % stride;
  return j < 0 ? term.before + (outer * term.before_width + j + term.before_width) * stride + inner
               : term.after + (outer * term.after_width + j - extent) * stride + inner;
}

/// Adds one term at one point, whose place along its axis is i.
template <class T>
WEFT_FUNCTION void add_term(const StencilPlan<T>& plan, const StencilTerm<T>& term, index_t point,
                            index_t i, T& sum) {
  const RealOf<T>* row = row_at(term, i);
  for (int d = -stencil_reach; d <= stencil_reach; ++d) {
    const RealOf<T> weight = row[d + stencil_reach];
    if (weight != 0) sum += weight * *neighbour(plan, term, point, i, d);
  }
}

}  // namespace weft::kernels
