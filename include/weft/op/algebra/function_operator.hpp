#pragma once

#include <weft/op/linear_operator.hpp>

#include <functional>
#include <string>
#include <type_traits>

namespace weft {

namespace detail {
/// function(x, y) writes y. A non-deduced context, so that callers can pass lambdas.
template <Scalar D, Scalar R>
using OperatorFunction =
    std::type_identity_t<std::function<void(const ConstArrayView<D>&, const ArrayView<R>&)>>;
}  // namespace detail

/// An operator defined by two functions: forward(x, y) writes y = A x, adjoint(y, x) writes
/// x = Aᴴ y; neither reads its output. Without an adjoint function, applying the adjoint throws.
/// Between complex arrays, the functions must be complex-linear. Work arrays are allocated by the
/// first forward and the first adjoint with alpha != 1 or beta != 0. PyLops: FunctionOperator.
template <Scalar D, Scalar R = D>
LinearOperator<D, R> function_operator(const Layout& domain, const Layout& range,
                                       detail::OperatorFunction<D, R> forward,
                                       detail::OperatorFunction<R, D> adjoint = {},
                                       const std::string& name = "function");

}  // namespace weft
