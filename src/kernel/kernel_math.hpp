#pragma once

// Functions of scalars, for *_kernels.cpp files only.

#include <weft/kernel/for_each.hpp>

#include "kernel/kernel_scalars.hpp"

#include <cmath>

namespace weft::kernels {

template <class R>
WEFT_FUNCTION R conj_of(R x) {
  return x;
}
template <class R>
WEFT_FUNCTION Complex<R> conj_of(Complex<R> z) {
  return {z.re, -z.im};
}

template <class R>
WEFT_FUNCTION R abs_of(R x) {
  return std::abs(x);
}
template <class R>
WEFT_FUNCTION R abs_of(Complex<R> z) {
  return std::hypot(z.re, z.im);
}

template <class R>
WEFT_FUNCTION bool is_nonzero(R x) {
  return x != R{};
}
template <class R>
WEFT_FUNCTION bool is_nonzero(Complex<R> z) {
  return z.re != R{} || z.im != R{};
}

template <class R>
WEFT_FUNCTION R real_of(R x) {
  return x;
}
template <class R>
WEFT_FUNCTION R real_of(Complex<R> z) {
  return z.re;
}

template <class R>
WEFT_FUNCTION R imag_of(R) {
  return R{};
}
template <class R>
WEFT_FUNCTION R imag_of(Complex<R> z) {
  return z.im;
}

/// The sum of reductions.
struct Add {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return a + b;
  }
};

/// Converts to another precision, or from real to complex.
template <class U, class R>
WEFT_FUNCTION U convert_to(R x) {
  return U(static_cast<RealOf<U>>(x));
}
template <class U, class R>
WEFT_FUNCTION U convert_to(Complex<R> z) {
  return U(z);
}

}  // namespace weft::kernels
