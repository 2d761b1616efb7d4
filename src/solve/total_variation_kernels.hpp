#pragma once

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// For v = g + u, where the components of the vector at a point are n elements apart:
///   z = (1 - threshold / |v|) v, or 0 if |v| <= threshold
///   e = z - g
///   u = v - z
/// and the sum of |e|². z is not stored.
template <class Device, class K, class R>
void shrink(Device device, index_t n, int components, R threshold, const K* g, K* u, K* e,
            double* out);

/// The sums of (x - old)² and of x², in adjacent slots.
template <class Device, class R>
void change(Device device, index_t n, const R* x, const R* old, double* out);

}  // namespace weft::kernels
