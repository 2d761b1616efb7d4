#pragma once

// Products with sparse matrices along an axis, for gather_operator.cpp.

#include "kernel/kernel_scalars.hpp"

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// The rows of a sparse matrix on this rank: row i has the entries begins[i] <= e < begins[i + 1].
template <class T>
struct GatherRows {
  const index_t* begins;
  const index_t* columns;
  const RealOf<T>* weights;
};

/// An array [outer, n, inner] and more positions that other ranks have sent, [sent, outer, inner],
/// which are counted from n on.
template <class T>
struct GatherInput {
  const T* x;
  const T* received;
  index_t n;
};

/// y[o, i, k] = alpha sum over e of weights[e] x[o, columns[e], k] + beta y[o, i, k] for the
/// entries of row i, over [outer, m, inner]; with beta = 0, y is not read. `entries` is their
/// number, which decides how many threads share the work.
template <class Device, class T>
void gather_sums(Device device, index_t outer, index_t m, index_t inner, index_t entries,
                 GatherRows<T> rows, T alpha, GatherInput<T> input, T beta, T* y);

/// packed[j, o, k] = x[o, positions[j], k] over [count, outer, inner].
template <class Device, class T>
void pack_positions(Device device, index_t outer, index_t n, index_t inner, index_t count,
                    const index_t* positions, const T* x, T* packed);

}  // namespace weft::kernels
