#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// y = 0. PyLops: Zero.
template <Scalar D, Scalar R = D>
LinearOperator<D, R> zero(const Layout& domain, const Layout& range);

}  // namespace weft
