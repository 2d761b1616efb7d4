#pragma once

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

// Elementwise kernels on contiguous elements.

namespace weft::kernels {

template <class Device, class T>
void fill(Device device, index_t n, T value, T* x);
template <class Device, class T>
void copy(Device device, index_t n, const T* x, T* y);
template <class Device, class T>
void scale(Device device, index_t n, T a, T* x);
template <class Device, class T>
void add(Device device, index_t n, T a, T* x);
template <class Device, class T>
void axpy(Device device, index_t n, T a, const T* x, T* y);
template <class Device, class T>
void axpby(Device device, index_t n, T a, const T* x, T b, T* y);
template <class Device, class T>
void multiply(Device device, index_t n, const T* x, T* y);
template <class Device, class T>
void conjugate(Device device, index_t n, const T* x, T* y);
template <class Device, class T>
void magnitude(Device device, index_t n, const T* x, RealOf<T>* y);
template <class Device, class T>
void real_part(Device device, index_t n, const T* x, RealOf<T>* y);
template <class Device, class T>
void imaginary_part(Device device, index_t n, const T* x, RealOf<T>* y);
template <class Device, class T, class U>
void convert(Device device, index_t n, const T* x, U* y);

}  // namespace weft::kernels
