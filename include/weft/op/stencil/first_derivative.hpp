#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

namespace weft {

struct FirstDerivativeOptions {
  /// The axis to differentiate along.
  int axis = -1;
  /// Distance between samples.
  double sampling = 1;
  DerivativeKind kind = DerivativeKind::centered;
  /// Use shorter or one-sided differences where a centered one reaches beyond the array.
  bool edge = false;
  /// Points of a centered difference: 3, 5, 7 or 9. The error is of the power order - 1 of d.
  int order = 3;
};

/// First derivative along an axis by finite differences, where d is the sampling. PyLops:
/// FirstDerivative.
///   forward             y[i] = (x[i+1] - x[i]) / d
///   backward            y[i] = (x[i] - x[i-1]) / d
///   centered, order 3   y[i] = (x[i+1] - x[i-1]) / 2d
///   centered, order 5   y[i] = (x[i-2] - 8 x[i-1] + 8 x[i+1] - x[i+2]) / 12d
///   centered, order 7   y[i] = (45 (x[i+1] - x[i-1]) - 9 (x[i+2] - x[i-2])
///                               + x[i+3] - x[i-3]) / 60d
///   centered, order 9   y[i] = (672 (x[i+1] - x[i-1]) - 168 (x[i+2] - x[i-2])
///                               + 32 (x[i+3] - x[i-3]) - 3 (x[i+4] - x[i-4])) / 840d
/// y[i] = 0 where the difference reaches beyond the array. With `edge`, a centered difference is
/// replaced there by the first that fits of the centered ones of lower order, forward and backward.
/// Axes too short for any of them are legal and give zeros.
///
/// Communication: one halo exchange if the axis is distributed.
template <Scalar T>
LinearOperator<T> first_derivative(const Layout& layout,
                                   const FirstDerivativeOptions& options = {});

}  // namespace weft
