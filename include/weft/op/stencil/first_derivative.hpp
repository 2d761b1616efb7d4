#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

namespace weft {

struct FirstDerivativeOptions {
  int axis = -1;
  double sampling = 1;
  DerivativeKind kind = DerivativeKind::centered;
  /// Shorter differences at the ends, where a centered one does not fit; else zeros.
  bool edge = false;
  /// Points of a centered difference: 3 or 5.
  int order = 3;
};

/// Along an axis, with d the sampling:
///   forward     (x[i+1] - x[i]) / d
///   backward    (x[i] - x[i-1]) / d
///   centered    (x[i+1] - x[i-1]) / 2d, or
///               (x[i-2] - 8 x[i-1] + 8 x[i+1] - x[i+2]) / 12d
/// Where that reaches beyond the array the result is zero; with `edge`, a centered one is replaced
/// by the first of those of 3 points, forward and backward that fits. An axis too short for any of
/// them is legal, and gives zeros.
template <Scalar T>
LinearOperator<T> first_derivative(const Layout& layout,
                                   const FirstDerivativeOptions& options = {});

}  // namespace weft
