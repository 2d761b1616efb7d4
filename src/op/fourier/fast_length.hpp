#pragma once

#include <weft/core/shape.hpp>

namespace weft::detail {

/// The next length with prime factors up to 7, for which FFTs are fast.
inline index_t fast_length(index_t n) {
  const auto is_smooth = [](index_t number) {
    for (const index_t prime : {2, 3, 5, 7}) {
      while (number % prime == 0) number /= prime;
    }
    return number == 1;
  };
  while (!is_smooth(n)) ++n;
  return n;
}

}  // namespace weft::detail
