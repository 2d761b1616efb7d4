#pragma once

// Algebra of operators. Layouts are checked when operators are combined, identically on all ranks.
// Workspaces, such as the intermediate result of a product, are allocated then; applying operators
// allocates nothing. Expressions are simplified: zeros and identities drop out, scalings fold into
// one, and the adjoint of an adjoint is the operator itself.

#include <weft/op/linear_operator.hpp>

namespace weft {

/// y = A (B x)
template <Scalar D, Scalar E, Scalar R>
LinearOperator<D, R> operator*(const LinearOperator<E, R>& a, const LinearOperator<D, E>& b);
/// y = A x + B x
template <Scalar D, Scalar R>
LinearOperator<D, R> operator+(const LinearOperator<D, R>& a, const LinearOperator<D, R>& b);
/// y = A x - B x
template <Scalar D, Scalar R>
LinearOperator<D, R> operator-(const LinearOperator<D, R>& a, const LinearOperator<D, R>& b);

/// y = factor A x
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

/// x = Aᴴ y
template <Scalar D, Scalar R>
LinearOperator<R, D> adjoint(const LinearOperator<D, R>& a);
/// y = conj(A conj(x)), elementwise
template <Scalar D, Scalar R>
LinearOperator<D, R> conj(const LinearOperator<D, R>& a);
/// x = Aᵀ y, the adjoint of conj(A)
template <Scalar D, Scalar R>
LinearOperator<R, D> transpose(const LinearOperator<D, R>& a);

/// y = Aⁿ x for n >= 0
template <Scalar T>
LinearOperator<T> pow(const LinearOperator<T>& a, int n);

/// y = Re(A x)
template <Scalar D, Scalar R>
LinearOperator<D, Real<R>> real_part(const LinearOperator<D, R>& a);
/// y = Im(A x)
template <Scalar D, Scalar R>
LinearOperator<D, Real<R>> imag_part(const LinearOperator<D, R>& a);

}  // namespace weft
