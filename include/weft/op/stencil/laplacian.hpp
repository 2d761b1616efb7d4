#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/stencil/derivative_kind.hpp>

#include <vector>

namespace weft {

struct LaplacianOptions {
  std::vector<int> axes = {-2, -1};
  /// One for each of the axes, or one for all.
  std::vector<double> weights = {1};
  std::vector<double> sampling = {1};
  bool edge = false;
  DerivativeKind kind = DerivativeKind::centered;
};

/// The weighted sum of second derivatives along some axes (see second_derivative): one pass over
/// the array and one exchange of halos.
template <Scalar T>
LinearOperator<T> laplacian(const Layout& layout, const LaplacianOptions& options = {});

}  // namespace weft
