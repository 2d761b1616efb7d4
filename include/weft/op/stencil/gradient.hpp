#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include <vector>

namespace weft {

struct GradientOptions {
  /// One for each axis, or one for all.
  std::vector<double> sampling = {1};
  bool edge = false;
  DerivativeKind kind = DerivativeKind::centered;
  /// Points of a centered difference: 3 or 5.
  int order = 3;
};

/// The first derivatives along all axes (see first_derivative). The range is a stack of as many
/// arrays like the one it takes. One pass over memory and one exchange of halos, either way.
template <Scalar T>
LinearOperator<T> gradient(const Layout& layout, const GradientOptions& options = {});

}  // namespace weft
