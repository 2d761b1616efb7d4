#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

namespace weft {

struct SecondDerivativeOptions {
  int axis = -1;
  double sampling = 1;
  DerivativeKind kind = DerivativeKind::centered;
  /// At the ends, where a centered difference does not fit, that of its neighbour; else zeros.
  bool edge = false;
};

/// Along an axis, with d the sampling:
///   centered    (x[i-1] - 2 x[i] + x[i+1]) / d^2
///   forward     (x[i] - 2 x[i+1] + x[i+2]) / d^2
///   backward    (x[i-2] - 2 x[i-1] + x[i]) / d^2
/// Where that reaches beyond the array the result is zero; with `edge`, a centered one is replaced
/// by the one of the others that fits. An axis of less than three elements gives zeros.
template <Scalar T>
LinearOperator<T> second_derivative(const Layout& layout,
                                    const SecondDerivativeOptions& options = {});

}  // namespace weft
