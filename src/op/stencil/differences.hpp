#pragma once

#include <weft/op/stencil/derivative_kind.hpp>

#include "op/stencil/stencil_matrix.hpp"

#include <vector>

namespace weft::detail {

/// The matrix of a first derivative along an axis of n elements. `where` is who complains of wrong
/// arguments.
StencilMatrix first_difference(index_t n, double sampling, DerivativeKind kind, bool edge,
                               int order, const char* where);
StencilMatrix second_difference(index_t n, double sampling, double weight, DerivativeKind kind,
                                bool edge, const char* where);

/// The one of `values` for an axis: there is one for each of `axes`, or one for all.
double value_for(const std::vector<double>& values, std::size_t index, std::size_t axes,
                 const char* what, const char* where);

}  // namespace weft::detail
