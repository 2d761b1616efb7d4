#pragma once

// Elementwise arithmetic. Layouts must be equal; nothing here sends a message. The forms that write
// into their last argument allocate nothing.

#include <weft/array/distributed_array.hpp>

namespace weft {

/// y = x
template <Scalar T>
void copy(const DistributedArray<T>& x, DistributedArray<T>& y);
/// x *= a
template <Scalar T>
void scale(Coefficient<T> a, DistributedArray<T>& x);
/// y += a x
template <Scalar T>
void axpy(Coefficient<T> a, const DistributedArray<T>& x, DistributedArray<T>& y);
/// y = a x + b y; with b = 0, y is not read
template <Scalar T>
void axpby(Coefficient<T> a, const DistributedArray<T>& x, Coefficient<T> b,
           DistributedArray<T>& y);
/// y *= x, element by element
template <Scalar T>
void multiply(const DistributedArray<T>& x, DistributedArray<T>& y);
/// y = conj(x); x and y may be the same
template <Scalar T>
void conjugate(const DistributedArray<T>& x, DistributedArray<T>& y);

template <Scalar T>
DistributedArray<T> conj(const DistributedArray<T>& x);
template <Scalar T>
DistributedArray<Real<T>> abs(const DistributedArray<T>& x);
template <Scalar T>
DistributedArray<Real<T>> real(const DistributedArray<T>& x);
template <Scalar T>
DistributedArray<Real<T>> imag(const DistributedArray<T>& x);
/// The elements as another type: between precisions, and from real to complex.
template <Scalar U, Scalar T>
  requires(is_complex<U> || !is_complex<T>)
DistributedArray<U> astype(const DistributedArray<T>& x);

template <Scalar T>
DistributedArray<T>& operator+=(DistributedArray<T>& y, const DistributedArray<T>& x) {
  axpy(T{1}, x, y);
  return y;
}
template <Scalar T>
DistributedArray<T>& operator-=(DistributedArray<T>& y, const DistributedArray<T>& x) {
  axpy(T{-1}, x, y);
  return y;
}
template <Scalar T>
DistributedArray<T>& operator*=(DistributedArray<T>& y, const DistributedArray<T>& x) {
  multiply(x, y);
  return y;
}
template <Scalar T, Factor<T> S>
DistributedArray<T>& operator*=(DistributedArray<T>& y, S a) {
  scale(a, y);
  return y;
}
template <Scalar T>
DistributedArray<T> operator+(const DistributedArray<T>& x, const DistributedArray<T>& y) {
  DistributedArray<T> sum = x;
  return sum += y;
}
template <Scalar T>
DistributedArray<T> operator-(const DistributedArray<T>& x, const DistributedArray<T>& y) {
  DistributedArray<T> difference = x;
  return difference -= y;
}
template <Scalar T>
DistributedArray<T> operator*(const DistributedArray<T>& x, const DistributedArray<T>& y) {
  DistributedArray<T> product = x;
  return product *= y;
}
template <Scalar T, Factor<T> S>
DistributedArray<T> operator*(S a, const DistributedArray<T>& x) {
  DistributedArray<T> scaled(x.layout(), uninitialized);
  axpby(a, x, T{}, scaled);
  return scaled;
}
template <Scalar T, Factor<T> S>
DistributedArray<T> operator*(const DistributedArray<T>& x, S a) {
  return a * x;
}
template <Scalar T>
DistributedArray<T> operator-(const DistributedArray<T>& x) {
  return T{-1} * x;
}

}  // namespace weft
