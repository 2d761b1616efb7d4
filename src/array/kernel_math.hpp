#pragma once

// Functions of scalars, for *_kernels.cpp files only.

#include <weft/core/for_each.hpp>

#include "array/kernel_scalars.hpp"

#include <cmath>

namespace weft::kernels {

template <class R>
WEFT_KERNEL R conj_of(R x) {
  return x;
}
template <class R>
WEFT_KERNEL Complex<R> conj_of(Complex<R> z) {
  return {z.re, -z.im};
}

template <class R>
WEFT_KERNEL R abs_of(R x) {
  return std::abs(x);
}
template <class R>
WEFT_KERNEL R abs_of(Complex<R> z) {
  return std::hypot(z.re, z.im);
}

template <class R>
WEFT_KERNEL bool is_nonzero(R x) {
  return x != R{};
}
template <class R>
WEFT_KERNEL bool is_nonzero(Complex<R> z) {
  return z.re != R{} || z.im != R{};
}

}  // namespace weft::kernels
