#pragma once

// The weights of linear interpolation between the nodes of a grid, from their definition.

#include <weft/core/shape.hpp>

#include <cstddef>
#include <vector>

namespace weft::test {

/// The weight of node k at a position: a hat function; constant beyond the first and last node.
inline double node_weight(const std::vector<index_t>& nodes, std::size_t k, index_t position) {
  if (k == 0 && position <= nodes[0]) return 1;
  if (k + 1 == nodes.size() && position >= nodes[k]) return 1;
  const auto fraction = [&](std::size_t from, std::size_t to) {
    return static_cast<double>(position - nodes[from]) /
           static_cast<double>(nodes[to] - nodes[from]);
  };
  if (position <= nodes[k]) return k > 0 && position > nodes[k - 1] ? fraction(k - 1, k) : 0;
  return k + 1 < nodes.size() && position < nodes[k + 1] ? 1 - fraction(k, k + 1) : 0;
}

}  // namespace weft::test
