#pragma once

// Elementwise arithmetic on arrays and views, in any combination. Layouts must be equal; no
// function sends a message. Functions that write to their last argument allocate nothing. Arguments
// may be the same array, but must not overlap otherwise.

#include <weft/array/distributed_array.hpp>

namespace weft {

/// y = x
template <Scalar T>
void copy(const ConstArrayView<T>& x, const detail::Output<T>& y);
/// x *= a
template <Scalar T>
void scale(Coefficient<T> a, const ArrayView<T>& x);
template <Scalar T>
void scale(Coefficient<T> a, DistributedArray<T>& x) {
  scale(a, ArrayView<T>(x));
}
/// y += a x
template <Scalar T>
void axpy(Coefficient<T> a, const ConstArrayView<T>& x, const detail::Output<T>& y);
/// y = a x + b y; with b = 0, y is not read
template <Scalar T>
void axpby(Coefficient<T> a, const ConstArrayView<T>& x, Coefficient<T> b,
           const detail::Output<T>& y);
/// x += a, for every element
template <Scalar T>
void add(Coefficient<T> a, const ArrayView<T>& x);
template <Scalar T>
void add(Coefficient<T> a, DistributedArray<T>& x) {
  add(a, ArrayView<T>(x));
}
/// y *= x, element by element
template <Scalar T>
void multiply(const ConstArrayView<T>& x, const detail::Output<T>& y);
/// y = conj(x); x and y may be the same
template <Scalar T>
void conjugate(const ConstArrayView<T>& x, const detail::Output<T>& y);

template <Scalar T>
DistributedArray<T> conj(const ConstArrayView<T>& x);
template <Scalar T>
DistributedArray<Real<T>> abs(const ConstArrayView<T>& x);
template <Scalar T>
DistributedArray<Real<T>> real(const ConstArrayView<T>& x);
template <Scalar T>
DistributedArray<Real<T>> imag(const ConstArrayView<T>& x);
/// The elements as another type: between precisions, and from real to complex.
template <Scalar U, Scalar T>
  requires(is_complex<U> || !is_complex<T>)
DistributedArray<U> astype(const ConstArrayView<T>& x);

template <Scalar T>
const ArrayView<T>& operator+=(const ArrayView<T>& y, const ConstArrayView<T>& x) {
  axpy(T{1}, x, y);
  return y;
}
template <Scalar T>
const ArrayView<T>& operator-=(const ArrayView<T>& y, const ConstArrayView<T>& x) {
  axpy(T{-1}, x, y);
  return y;
}
template <Scalar T>
const ArrayView<T>& operator*=(const ArrayView<T>& y, const ConstArrayView<T>& x) {
  multiply(x, y);
  return y;
}
template <Scalar T, Factor<T> S>
const ArrayView<T>& operator+=(const ArrayView<T>& y, S a) {
  add(a, y);
  return y;
}
template <Scalar T, Factor<T> S>
const ArrayView<T>& operator-=(const ArrayView<T>& y, S a) {
  add(-Coefficient<T>(a).value, y);
  return y;
}
template <Scalar T, Factor<T> S>
const ArrayView<T>& operator*=(const ArrayView<T>& y, S a) {
  scale(a, y);
  return y;
}
template <Scalar T>
DistributedArray<T>& operator+=(DistributedArray<T>& y, const ConstArrayView<T>& x) {
  axpy(T{1}, x, y);
  return y;
}
template <Scalar T>
DistributedArray<T>& operator-=(DistributedArray<T>& y, const ConstArrayView<T>& x) {
  axpy(T{-1}, x, y);
  return y;
}
template <Scalar T>
DistributedArray<T>& operator*=(DistributedArray<T>& y, const ConstArrayView<T>& x) {
  multiply(x, y);
  return y;
}
template <Scalar T, Factor<T> S>
DistributedArray<T>& operator+=(DistributedArray<T>& y, S a) {
  add(a, y);
  return y;
}
template <Scalar T, Factor<T> S>
DistributedArray<T>& operator-=(DistributedArray<T>& y, S a) {
  ArrayView<T>(y) -= a;
  return y;
}
template <Scalar T, Factor<T> S>
DistributedArray<T>& operator*=(DistributedArray<T>& y, S a) {
  scale(a, y);
  return y;
}
template <Scalar T>
DistributedArray<T> operator+(const ConstArrayView<T>& x, const ConstArrayView<T>& y) {
  DistributedArray<T> sum(x);
  sum += y;
  return sum;
}
template <Scalar T>
DistributedArray<T> operator-(const ConstArrayView<T>& x, const ConstArrayView<T>& y) {
  DistributedArray<T> difference(x);
  difference -= y;
  return difference;
}
template <Scalar T>
DistributedArray<T> operator*(const ConstArrayView<T>& x, const ConstArrayView<T>& y) {
  DistributedArray<T> product(x);
  product *= y;
  return product;
}
template <Scalar T, Factor<T> S>
DistributedArray<T> operator*(S a, const ConstArrayView<T>& x) {
  DistributedArray<T> scaled(x.layout(), uninitialized);
  axpby(a, x, T{}, scaled);
  return scaled;
}
template <Scalar T, Factor<T> S>
DistributedArray<T> operator*(const ConstArrayView<T>& x, S a) {
  return a * x;
}
template <Scalar T>
DistributedArray<T> operator-(const ConstArrayView<T>& x) {
  return T{-1} * x;
}
template <Scalar T, Factor<T> S>
DistributedArray<T> operator+(const ConstArrayView<T>& x, S a) {
  DistributedArray<T> sum(x);
  sum += a;
  return sum;
}
template <Scalar T, Factor<T> S>
DistributedArray<T> operator+(S a, const ConstArrayView<T>& x) {
  return x + a;
}
template <Scalar T, Factor<T> S>
DistributedArray<T> operator-(const ConstArrayView<T>& x, S a) {
  DistributedArray<T> difference(x);
  difference -= a;
  return difference;
}
template <Scalar T, Factor<T> S>
DistributedArray<T> operator-(S a, const ConstArrayView<T>& x) {
  DistributedArray<T> difference = -x;
  difference += a;
  return difference;
}

}  // namespace weft
