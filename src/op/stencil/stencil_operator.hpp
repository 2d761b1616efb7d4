#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include "op/stencil/stencil_matrix.hpp"

#include <string>
#include <vector>

namespace weft::detail {

/// A stencil matrix along one axis, from one part of the domain to one of the range.
struct AxisMatrix {
  int axis;
  StencilMatrix matrix;
  int domain_part = 0;
  int range_part = 0;
};

/// The sum of stencil matrices along axes of `layout`: in one pass over memory, with one exchange
/// of halos, either way. Domain and range are `layout` or stacks of it.
template <Scalar T>
LinearOperator<T> stencil_operator(const std::string& name, const Layout& layout,
                                   const Layout& domain, const Layout& range,
                                   const std::vector<AxisMatrix>& matrices);

}  // namespace weft::detail
