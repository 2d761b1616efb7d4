#pragma once

#include <weft/core/shape.hpp>

// With beta = 0, the output is not read.

namespace weft::kernels {

/// y[o, i, k] = alpha x[o, positions[i], k] + beta y[o, i, k] over [outer, m, inner], where x has n
/// positions.
template <class Device, class T>
void take_along(Device device, index_t outer, index_t m, index_t inner, index_t n,
                const index_t* positions, T alpha, const T* x, T beta, T* y);

/// x[o, p, k] = alpha y[o, sources[p], k] + beta x[o, p, k] over [outer, n, inner], where y has m
/// positions; there is no y where sources[p] is negative.
template <class Device, class T>
void put_along(Device device, index_t outer, index_t n, index_t inner, index_t m,
               const index_t* sources, T alpha, const T* y, T beta, T* x);

/// x[o, p, k] = alpha (sum of y[o, sources[j], k] for begins[p] <= j < begins[p + 1])
/// + beta x[o, p, k] over [outer, n, inner], where y has m positions.
template <class Device, class T>
void sum_sources_along(Device device, index_t outer, index_t n, index_t inner, index_t m,
                       const index_t* begins, const index_t* sources, T alpha, const T* y, T beta,
                       T* x);

}  // namespace weft::kernels
