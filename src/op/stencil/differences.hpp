#pragma once

// Finite-difference matrices from the options of derivative operators; used by
// first_derivative.cpp, second_derivative.cpp, gradient.cpp and laplacian.cpp.

#include <weft/op/stencil/derivative_kind.hpp>

#include "op/stencil/stencil_matrix.hpp"

namespace weft::detail {

/// The matrix of the first derivative along an axis of n elements. `who` names the caller in
/// errors.
StencilMatrix first_difference(index_t n, double sampling, DerivativeKind kind, bool edge,
                               int order, const char* who);
/// The matrix of the second derivative along an axis of n elements, times a weight.
StencilMatrix second_difference(index_t n, double sampling, double weight, DerivativeKind kind,
                                bool edge, const char* who);

}  // namespace weft::detail
