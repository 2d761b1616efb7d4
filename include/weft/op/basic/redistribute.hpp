#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// Moves arrays from one layout to another of the same shape: one all_to_all, or none. Its adjoint
/// is its inverse.
template <Scalar T>
LinearOperator<T> redistribute(const Layout& from, const Layout& to);

}  // namespace weft
