#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// y = x in another layout of the same shape. The adjoint is the inverse. Communication: one
/// all_to_all, or none if every rank already has its elements.
template <Scalar T>
LinearOperator<T> redistribute(const Layout& from, const Layout& to);

}  // namespace weft
