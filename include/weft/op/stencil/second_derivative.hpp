#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

namespace weft {

struct SecondDerivativeOptions {
  /// The axis to differentiate along.
  int axis = -1;
  /// Distance between samples.
  double sampling = 1;
  DerivativeKind kind = DerivativeKind::centered;
  /// Use shorter or one-sided differences where a centered one reaches beyond the array.
  bool edge = false;
  /// Points of a centered difference: 3, or 5 for an error of the fourth power of d.
  int order = 3;
};

/// Second derivative along an axis by finite differences, where d is the sampling. PyLops:
/// SecondDerivative.
///   centered            y[i] = (x[i-1] - 2 x[i] + x[i+1]) / d^2
///   centered, order 5   y[i] = (-x[i-2] + 16 x[i-1] - 30 x[i] + 16 x[i+1] - x[i+2]) / 12d^2
///   forward             y[i] = (x[i] - 2 x[i+1] + x[i+2]) / d^2
///   backward            y[i] = (x[i-2] - 2 x[i-1] + x[i]) / d^2
/// y[i] = 0 where the difference reaches beyond the array. With `edge`, a centered difference is
/// replaced there by the first that fits of the centered one of order 3, forward and backward. Axes
/// of fewer than three elements give zeros.
///
/// Communication: one halo exchange if the axis is distributed.
template <Scalar T>
LinearOperator<T> second_derivative(const Layout& layout,
                                    const SecondDerivativeOptions& options = {});

}  // namespace weft
