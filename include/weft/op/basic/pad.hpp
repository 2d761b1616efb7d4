#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct PadWidth {
  index_t before = 0;
  index_t after = 0;
};

/// Surrounds an array with zeros, so many before and after it along each axis. Elements stay where
/// they are: the ranks at the edges get the zeros. No messages.
template <Scalar T>
LinearOperator<T> pad(const Layout& layout, const std::vector<PadWidth>& widths);

}  // namespace weft
