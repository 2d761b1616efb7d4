#pragma once

// Values and moments of polynomials, for regression.cpp.

#include <weft/core/shape.hpp>

#include "kernel/kernel_scalars.hpp"

namespace weft::kernels {

/// Moments that are summed in one pass: as many as reduce() can accumulate on a GPU, 16 bytes.
template <class T>
inline constexpr int moments_per_pass = 16 / static_cast<int>(sizeof(SumOf<T>));

/// y[i] = alpha (x[0] + x[1] t[i] + ... + x[order] t[i]^order) + beta y[i] for i < n; with beta =
/// 0, y is not read.
template <class Device, class T>
void evaluate_polynomial(Device device, index_t n, int order, const RealOf<T>* t, T alpha,
                         const T* x, T beta, T* y);

/// moments[k] = sum over i of t[i]^(first + k) y[i] for k < moments_per_pass<T>.
template <class Device, class T>
void sum_moments(Device device, index_t n, int first, const RealOf<T>* t, const T* y,
                 SumOf<T>* moments);

/// x[k] = alpha moments[k] + beta x[k] for k < count; with beta = 0, x is not read.
template <class Device, class T>
void put_moments(Device device, index_t count, T alpha, const SumOf<T>* moments, T beta, T* x);

}  // namespace weft::kernels
