#pragma once

#include <weft/core/shape.hpp>

// Gather and scatter along an axis. With beta = 0, the output is not read.

namespace weft::kernels {

/// y[o, i, k] = alpha x[o, positions[i], k] + beta y[o, i, k] over [outer, m, inner], where x has n
/// positions.
template <class Device, class T>
void gather_along(Device device, index_t outer, index_t m, index_t inner, index_t n,
                  const index_t* positions, T alpha, const T* x, T beta, T* y);

/// x[o, p, k] = alpha y[o, sources[p], k] + beta x[o, p, k] over [outer, n, inner], where y has m
/// positions; y counts as 0 where sources[p] is negative.
template <class Device, class T>
void scatter_along(Device device, index_t outer, index_t n, index_t inner, index_t m,
                   const index_t* sources, T alpha, const T* y, T beta, T* x);

/// x[o, p, k] = alpha sum over j of y[o, sources[j], k] + beta x[o, p, k] for
/// begins[p] <= j < begins[p + 1], over [outer, n, inner], where y has m positions.
template <class Device, class T>
void scatter_add_along(Device device, index_t outer, index_t n, index_t inner, index_t m,
                       const index_t* begins, const index_t* sources, T alpha, const T* y, T beta,
                       T* x);

}  // namespace weft::kernels
