#pragma once

#include <weft/op/linear_operator.hpp>

#include <optional>
#include <vector>

namespace weft {

struct TransposeAxesOptions {
  /// Layout of the result. By default every rank keeps its elements, and nothing is sent.
  std::optional<Layout> range = {};
};

/// Permutes the axes: axis i of y is axis axes[i] of x, as in numpy.transpose. PyLops: Transpose.
template <Scalar T>
LinearOperator<T> transpose_axes(const Layout& layout, const std::vector<int>& axes,
                                 const TransposeAxesOptions& options = {});

}  // namespace weft
