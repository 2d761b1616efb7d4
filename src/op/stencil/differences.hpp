#pragma once

// Finite-difference matrices from the options of derivative operators.

#include <weft/op/stencil/derivative_kind.hpp>

#include "op/stencil/stencil_matrix.hpp"

namespace weft::detail {

/// The options of a finite difference along one axis.
struct DifferenceOptions {
  double sampling = 1;
  DerivativeKind kind = DerivativeKind::centered;
  bool edge = false;
  int order = 3;
  double weight = 1;
};

/// The matrix of the first derivative along an axis of n elements, times a weight. `who` names the
/// caller in errors.
StencilMatrix first_difference(index_t n, const DifferenceOptions& options, const char* who);
/// The matrix of the second derivative along an axis of n elements, times a weight.
StencilMatrix second_difference(index_t n, const DifferenceOptions& options, const char* who);

}  // namespace weft::detail
