#pragma once

#include <complex>

namespace weft {

/// The complex number of kernels: laid out like std::complex, but multiplied by the textbook
/// formula. The product of std::complex has a branch that recovers from NaN, which prevents
/// vectorisation.
template <class R>
struct Complex {
  R re{};
  R im{};

  constexpr Complex() = default;
  constexpr Complex(R real, R imag = R{}) : re(real), im(imag) {}
  template <class S>
  constexpr explicit Complex(Complex<S> z) : re(static_cast<R>(z.re)), im(static_cast<R>(z.im)) {}

  friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
  friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend constexpr Complex operator*(R a, Complex b) { return {a * b.re, a * b.im}; }
  constexpr Complex& operator+=(Complex b) { return *this = *this + b; }
  constexpr Complex& operator*=(Complex b) { return *this = *this * b; }
};

namespace detail {
template <class T>
struct KernelTypeOf {
  using type = T;
};
template <class R>
struct KernelTypeOf<std::complex<R>> {
  using type = Complex<R>;
};
}  // namespace detail

/// The type of elements of type T in kernels.
template <class T>
using KernelType = typename detail::KernelTypeOf<T>::type;

/// Casts an array for a kernel. Both types are two consecutive reals.
template <class T>
KernelType<T>* kernel_cast(T* data) {
  return reinterpret_cast<KernelType<T>*>(data);
}
template <class T>
const KernelType<T>* kernel_cast(const T* data) {
  return reinterpret_cast<const KernelType<T>*>(data);
}
template <class T>
KernelType<T> kernel_value(T value) {
  return value;
}
template <class R>
Complex<R> kernel_value(std::complex<R> value) {
  return {value.real(), value.imag()};
}

}  // namespace weft
