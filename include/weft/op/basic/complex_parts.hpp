#pragma once

// Real-linear maps of complex arrays: A (c x) = c A x for real c only. Their adjoints are those of
// the real inner product, Re<A x, y> = Re<x, Aᴴ y>. Elementwise, no communication.

#include <weft/op/linear_operator.hpp>

namespace weft {

/// y = Re(x); the adjoint is x = y + 0i. PyLops: Real.
template <Scalar T>
LinearOperator<T, Real<T>> real_part(const Layout& layout);
/// y = Im(x); the adjoint is x = 0 + iy. PyLops: Imag.
template <Scalar T>
LinearOperator<T, Real<T>> imag_part(const Layout& layout);
/// y = conj(x), its own adjoint. PyLops: Conj.
template <Scalar T>
LinearOperator<T> conjugation(const Layout& layout);

}  // namespace weft
