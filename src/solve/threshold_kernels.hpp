#pragma once

#include <weft/core/shape.hpp>
#include <weft/solve/threshold.hpp>

namespace weft::kernels {

/// u = the c that minimises 1/2 |c - u|² + weight P(c), and the sum of P(c). A weight of 0 leaves u
/// unchanged.
template <class Device, class T>
void shrink(Device device, index_t n, Threshold threshold, double weight, T* u, double* out);
/// The same for u = z + step g; the result replaces g.
template <class Device, class T>
void step_and_shrink(Device device, index_t n, Threshold threshold, double weight, const T* z,
                     double step, T* g, double* out);

}  // namespace weft::kernels
