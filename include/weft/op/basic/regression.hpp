#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

struct RegressionOptions {
  /// The degree of the polynomial.
  int order = 1;
};

/// Values of a polynomial: y[i] = x[0] + x[1] t[i] + ... + x[order] t[i]^order. t, of any shape and
/// distribution, gives the layout of y; all ranks have the order + 1 coefficients x. The adjoint
/// sums powers in double precision. Communication: none forward, one allreduce for the adjoint if t
/// is distributed. PyLops: Regression, and LinearRegression for order 1.
template <Scalar T>
LinearOperator<T> regression(const ConstArrayView<Real<T>>& t,
                             const RegressionOptions& options = {});

}  // namespace weft
