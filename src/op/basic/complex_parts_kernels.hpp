#pragma once

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

#include <cstdint>

// y = alpha part(x) + beta y; with beta = 0, y is not read.

namespace weft::kernels {

enum class Part : std::uint8_t { real, imag };

template <class Device, class R>
void take_part(Device device, index_t n, Part part, R alpha, const Complex<R>* x, R beta, R* y);
/// y = alpha (x + 0i) + beta y, or y = alpha (0 + xi) + beta y.
template <class Device, class R>
void put_part(Device device, index_t n, Part part, Complex<R> alpha, const R* x, Complex<R> beta,
              Complex<R>* y);
template <class Device, class R>
void put_conjugate(Device device, index_t n, Complex<R> alpha, const Complex<R>* x, Complex<R> beta,
                   Complex<R>* y);

}  // namespace weft::kernels
