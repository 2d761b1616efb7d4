#pragma once

// Packs of adjacent elements in the registers of a GPU thread: loads, sums and exchange between
// lanes of a warp. Used by stencil_core.cuh.

#include <weft/kernel/for_each.hpp>

#include "kernel/kernel_scalars.hpp"

namespace weft::kernels {

/// Loads elements that nothing writes while the kernel runs.
template <class T>
__device__ void load(const T* from, T (&to)[1]) {
  to[0] = *from;
}
template <class T, int width>
__device__ void load(const T* from, T (&to)[width]) {
  const int4 bits = __ldg(reinterpret_cast<const int4*>(from));
  const auto& pack = reinterpret_cast<const detail::Pack<T>&>(bits);
#pragma unroll
  for (int j = 0; j < width; ++j) to[j] = pack.at[j];
}

template <class T, int width>
__device__ void copy(const T (&from)[width], T (&to)[width]) {
#pragma unroll
  for (int j = 0; j < width; ++j) to[j] = from[j];
}

template <class T, int width>
__device__ void add(RealOf<T> weight, const T (&values)[width], T (&sums)[width]) {
  if (weight == 0) return;
#pragma unroll
  for (int j = 0; j < width; ++j) sums[j] += weight * values[j];
}

template <class R>
__device__ R shuffle_up(R value, int hop) {
  return __shfl_up_sync(~0U, value, hop);
}
template <class R>
__device__ Complex<R> shuffle_up(Complex<R> value, int hop) {
  return {shuffle_up(value.re, hop), shuffle_up(value.im, hop)};
}
template <class R>
__device__ R shuffle_down(R value, int hop) {
  return __shfl_down_sync(~0U, value, hop);
}
template <class R>
__device__ Complex<R> shuffle_down(Complex<R> value, int hop) {
  return {shuffle_down(value.re, hop), shuffle_down(value.im, hop)};
}

}  // namespace weft::kernels
