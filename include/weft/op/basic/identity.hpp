#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// y = x. PyLops: Identity.
template <Scalar T>
LinearOperator<T> identity(const Layout& layout);

}  // namespace weft
