#pragma once

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft::detail {

/// A run of elements along an axis that moves as one.
struct Run {
  index_t from;
  index_t to;
  index_t extent;
};

/// y[j] = x[(j + shift) mod n] for j < min(n, m), where x has n elements and y has m.
std::vector<Run> rotated(index_t n, index_t shift, index_t m);

/// Moves runs along each axis within a rank's part, in global positions; what no run reaches is
/// zero. Axes without runs stay as they are. The axes with runs are whole in both layouts.
template <Scalar T>
LinearOperator<T> rearrange(const Layout& domain, const Layout& range,
                            const std::vector<std::vector<Run>>& runs);

}  // namespace weft::detail
