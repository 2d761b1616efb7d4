#pragma once

// Maps of complex arrays that are linear over real numbers only. Their adjoints are those of the
// real inner product.

#include <weft/op/linear_operator.hpp>

namespace weft {

/// x -> real(x); adjoint y -> y + 0i.
template <Scalar T>
LinearOperator<T, Real<T>> real_part(const Layout& layout);
/// x -> imag(x); adjoint y -> 0 + iy.
template <Scalar T>
LinearOperator<T, Real<T>> imag_part(const Layout& layout);
/// x -> conj(x), its own adjoint.
template <Scalar T>
LinearOperator<T> conjugation(const Layout& layout);

}  // namespace weft
