#pragma once

#include <weft/core/shape.hpp>
#include <weft/solve/threshold.hpp>

namespace weft::kernels {

/// u = the c for which 1/2 |c - u|² + weight P(c) is least, and the sum of P(c). With a weight of 0
/// u stays what it is.
template <class Device, class T>
void shrink(Device device, index_t n, Threshold threshold, double weight, T* u, double* out);
/// The same of u = z + step g, in the place of g.
template <class Device, class T>
void step_and_shrink(Device device, index_t n, Threshold threshold, double weight, const T* z,
                     double step, T* g, double* out);

}  // namespace weft::kernels
