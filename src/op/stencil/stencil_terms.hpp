#pragma once

// One term of a stencil at one point, near edges and ghost cells included. Shared by
// stencil_cpu.hpp and cuda/stencil_cuda.cuh.

#include "kernel/kernel_math.hpp"
#include "op/stencil/stencil_kernels.hpp"

namespace weft::kernels {

/// The coefficients at position i of the part: that at distance d from the diagonal is [d].
template <class T>
WEFT_FUNCTION const RealOf<T>* row_at(const StencilTerm<T>& term, index_t i) {
  const index_t row = term.first + i;
  const index_t number = row < term.head    ? row
                         : row >= term.tail ? term.head + row - term.tail
                                            : term.special_rows;
  return term.rows + number * stencil_width + stencil_reach;
}

/// The element at distance d along the term's axis from `point`, whose position along that axis is
/// i: in the input or in its ghost cells.
template <class T>
WEFT_FUNCTION const T* neighbour(const StencilTerms<T>& plan, const StencilTerm<T>& term,
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

/// Adds the term at a point whose position along the term's axis is i.
template <class T>
WEFT_FUNCTION void add_term(const StencilTerms<T>& plan, const StencilTerm<T>& term, index_t point,
                            index_t i, T& sum) {
  const RealOf<T>* row = row_at(term, i);
  for (int d = -term.reach; d <= term.reach; ++d) {
    const RealOf<T> weight = row[d];
    if (weight != 0) sum += weight * *neighbour(plan, term, point, i, d);
  }
}

}  // namespace weft::kernels
