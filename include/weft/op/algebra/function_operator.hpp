#pragma once

#include <weft/op/linear_operator.hpp>

#include <functional>
#include <string>

namespace weft {

namespace detail {
/// function(x, y) writes y; the types are not deduced from it, so that it can be a lambda.
template <Scalar D, Scalar R>
using OperatorFunction =
    std::type_identity_t<std::function<void(const ConstArrayView<D>&, const ArrayView<R>&)>>;
}  // namespace detail

/// An operator made of two functions: forward(x, y) writes y = A x, adjoint(y, x) writes x = Aᴴ y.
/// An operator without an adjoint complains when one is asked of it.
template <Scalar D, Scalar R = D>
LinearOperator<D, R> function_operator(const Layout& domain, const Layout& range,
                                       detail::OperatorFunction<D, R> forward,
                                       detail::OperatorFunction<R, D> adjoint = {},
                                       const std::string& name = "function");

}  // namespace weft
