#pragma once

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// With v = g + u, where the components of each point's vectors are n elements apart:
///   z = v made shorter by `threshold`, or 0 if it is not that long
///   e = z - g
///   u = v - z
/// and the sum of |e|². z itself is not kept.
template <class Device, class K, class R>
void shrink(Device device, index_t n, int components, R threshold, const K* g, K* u, K* e,
            double* out);

/// The sums of (x - old)² and of x², one after the other.
template <class Device, class R>
void change(Device device, index_t n, const R* x, const R* old, double* out);

}  // namespace weft::kernels
