#pragma once

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

#include <cstdint>

// Real and imaginary parts and conjugates of arrays. With beta = 0, y is not read.

namespace weft::kernels {

enum class Part : std::uint8_t { real, imag };

/// y = alpha Re(x) + beta y, or y = alpha Im(x) + beta y.
template <class Device, class R>
void extract_part(Device device, index_t n, Part part, R alpha, const Complex<R>* x, R beta, R* y);
/// y = alpha (x + 0i) + beta y, or y = alpha (0 + ix) + beta y.
template <class Device, class R>
void insert_part(Device device, index_t n, Part part, Complex<R> alpha, const R* x, Complex<R> beta,
                 Complex<R>* y);
/// y = alpha conj(x) + beta y
template <class Device, class R>
void axpby_conj(Device device, index_t n, Complex<R> alpha, const Complex<R>* x, Complex<R> beta,
                Complex<R>* y);

}  // namespace weft::kernels
