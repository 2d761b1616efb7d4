#pragma once

#include <weft/core/shape.hpp>

#include <algorithm>
#include <vector>

namespace weft::detail {

/// Splits of n elements into parts that differ by at most one; the first n % parts are longer.
inline std::vector<index_t> balanced_splits(index_t n, index_t parts) {
  std::vector<index_t> splits;
  for (index_t part = 0; part <= parts; ++part) {
    splits.push_back(part * (n / parts) + std::min(part, n % parts));
  }
  return splits;
}

}  // namespace weft::detail
