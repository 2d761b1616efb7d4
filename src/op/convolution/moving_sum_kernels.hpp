#pragma once

// Moving sums along an axis, for smoothing.cpp.

#include "kernel/kernel_scalars.hpp"
#include "op/convolution/axis_filter_kernels.hpp"

namespace weft::kernels {

/// The largest reach of moving_sum.
inline constexpr index_t max_moving_reach = 31;

/// y[o, i, k] = alpha scale sum over |j - i| <= reach of x[o, j, k] + beta y[o, i, k]; with beta =
/// 0, y is not read. Each sum is of the elements in reach only: errors do not accumulate along the
/// axis.
template <class Device, class T>
void moving_sum(Device device, index_t outer, index_t n, index_t inner, index_t reach,
                RealOf<T> scale, T alpha, FilterInput<T> input, T beta, T* y);

}  // namespace weft::kernels
