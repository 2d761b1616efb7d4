#pragma once

#include <weft/core/shape.hpp>

// Kernels on rectangular regions of row-major arrays. Strides are in elements, and may be zero or
// negative in the source.

namespace weft::kernels {

/// to[i] = from[i] for all points i of the shape.
template <class Device, class T>
void copy_box(Device device, const Shape& shape, const T* from, const Index& from_strides, T* to,
              const Index& to_strides);
/// to[i] += from[i]
template <class Device, class T>
void add_box(Device device, const Shape& shape, const T* from, const Index& from_strides, T* to,
             const Index& to_strides);

/// to[i] = alpha from[i] + beta to[i]; with beta = 0, `to` is not read.
template <class Device, class T>
void axpby_box(Device device, const Shape& shape, T alpha, const T* from, const Index& from_strides,
               T beta, T* to, const Index& to_strides);
/// x[i] *= beta; with beta = 0, x is not read.
template <class Device, class T>
void scale_box(Device device, const Shape& shape, T beta, T* x, const Index& strides);

}  // namespace weft::kernels
