#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct PadWidth {
  index_t before = 0;
  index_t after = 0;
};

/// Pads an array with zeros, with one width (before, after) per axis. Elements stay on their ranks;
/// the ranks at the edges own the zeros. No communication. PyLops: Pad.
template <Scalar T>
LinearOperator<T> pad(const Layout& layout, const std::vector<PadWidth>& widths);

}  // namespace weft
