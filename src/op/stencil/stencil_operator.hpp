#pragma once

// The node behind all derivative operators: gradient.cpp, laplacian.cpp, first_derivative.cpp and
// second_derivative.cpp pass it the matrices that differences.cpp makes.

#include <weft/op/linear_operator.hpp>

#include "op/stencil/stencil_matrix.hpp"

#include <string>
#include <vector>

namespace weft::detail {

/// A stencil matrix along one axis, from one part of the domain to one part of the range.
struct AxisMatrix {
  int axis;
  StencilMatrix matrix;
  int domain_part = 0;
  int range_part = 0;
};

/// The sum of stencil matrices along axes of `layout`. Domain and range are `layout` or stacks of
/// it. Forward and adjoint each take one pass over memory and one halo exchange.
template <Scalar T>
LinearOperator<T> stencil_operator(const std::string& name, const Layout& layout,
                                   const Layout& domain, const Layout& range,
                                   const std::vector<AxisMatrix>& matrices);

}  // namespace weft::detail
