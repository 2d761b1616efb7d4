#pragma once

// Operators made of operators. What composes is checked here, once, on all ranks alike; products
// get one array per joint, and nothing else is allocated. Zeros and identities vanish, scalings
// fold, and the adjoint of an adjoint is the operator itself.

#include <weft/op/linear_operator.hpp>

namespace weft {

/// x -> A (B x)
template <Scalar D, Scalar E, Scalar R>
LinearOperator<D, R> operator*(const LinearOperator<E, R>& a, const LinearOperator<D, E>& b);
template <Scalar D, Scalar R>
LinearOperator<D, R> operator+(const LinearOperator<D, R>& a, const LinearOperator<D, R>& b);
template <Scalar D, Scalar R>
LinearOperator<D, R> operator-(const LinearOperator<D, R>& a, const LinearOperator<D, R>& b);

template <Scalar D, Scalar R>
LinearOperator<D, R> scaled(Coefficient<R> factor, const LinearOperator<D, R>& a);
template <Scalar D, Scalar R, Factor<R> S>
LinearOperator<D, R> operator*(S factor, const LinearOperator<D, R>& a) {
  return scaled(factor, a);
}
template <Scalar D, Scalar R, Factor<R> S>
LinearOperator<D, R> operator*(const LinearOperator<D, R>& a, S factor) {
  return scaled(factor, a);
}
template <Scalar D, Scalar R>
LinearOperator<D, R> operator-(const LinearOperator<D, R>& a) {
  return scaled(-1, a);
}

template <Scalar D, Scalar R>
LinearOperator<R, D> adjoint(const LinearOperator<D, R>& a);
/// x -> conj(A conj(x))
template <Scalar D, Scalar R>
LinearOperator<D, R> conj(const LinearOperator<D, R>& a);
/// The adjoint of conj(A).
template <Scalar D, Scalar R>
LinearOperator<R, D> transpose(const LinearOperator<D, R>& a);

/// A applied n >= 0 times.
template <Scalar T>
LinearOperator<T> pow(const LinearOperator<T>& a, int n);

/// x -> real(A x), and x -> imag(A x).
template <Scalar D, Scalar R>
LinearOperator<D, Real<R>> real_part(const LinearOperator<D, R>& a);
template <Scalar D, Scalar R>
LinearOperator<D, Real<R>> imag_part(const LinearOperator<D, R>& a);

}  // namespace weft
