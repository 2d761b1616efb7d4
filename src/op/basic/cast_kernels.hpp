#pragma once

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

namespace weft::kernels {

/// y = alpha U(x) + beta y, where a complex number becomes a real one by losing its imaginary part.
/// With beta = 0, y is not read.
template <class Device, class T, class U>
void axpby_cast(Device device, index_t n, U alpha, const T* x, U beta, U* y);

}  // namespace weft::kernels
