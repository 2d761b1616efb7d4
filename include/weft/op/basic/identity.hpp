#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// x -> x
template <Scalar T>
LinearOperator<T> identity(const Layout& layout);

}  // namespace weft
