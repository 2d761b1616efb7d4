#pragma once

// Matrices of derivative operators, from their definitions.

#include <weft/op/stencil/derivative_kind.hpp>

#include "op/support/check_operator.hpp"

#include <algorithm>
#include <vector>

namespace weft::test {

inline constexpr double derivative_tolerance = 1e-6;

/// Coefficients of x[first], x[first + 1], ...
struct Difference {
  index_t first;
  std::vector<double> coefficients;

  double at(index_t j) const {
    const index_t place = j - first;
    const bool inside = place >= 0 && place < static_cast<index_t>(coefficients.size());
    return inside ? coefficients[static_cast<std::size_t>(place)] : 0;
  }
};

struct DerivativeCase {
  DerivativeKind kind = DerivativeKind::centered;
  bool edge = false;
  int order = 3;
};

/// The derivative, at its middle, of the polynomial through 2 r + 1 samples at distance 1.
inline Difference centered_difference(index_t i, index_t r, bool second) {
  Difference difference{i - r, std::vector<double>(static_cast<std::size_t>(2 * r + 1))};
  double ratio = 1;  // (r!)^2 / ((r - k)! (r + k)!)
  for (index_t k = 1; k <= r; ++k) {
    ratio *= static_cast<double>(r - k + 1) / static_cast<double>(r + k);
    const double sign = k % 2 == 1 ? 1 : -1;
    const auto distance = static_cast<double>(k);
    const double at_k = sign * ratio / distance * (second ? 2 / distance : 1);
    difference.coefficients[static_cast<std::size_t>(r + k)] = at_k;
    difference.coefficients[static_cast<std::size_t>(r - k)] = second ? at_k : -at_k;
    if (second) difference.coefficients[static_cast<std::size_t>(r)] -= 2 * at_k;
  }
  return difference;
}

inline Difference first_difference_at(index_t i, index_t n, const DerivativeCase& c) {
  const Difference zero{0, {}};
  const Difference forward{i, {-1, 1}};
  const Difference backward{i - 1, {-1, 1}};
  if (n == 1) return zero;
  if (c.kind == DerivativeKind::forward) return i == n - 1 ? zero : forward;
  if (c.kind == DerivativeKind::backward) return i == 0 ? zero : backward;
  const index_t r = (c.order - 1) / 2;
  const index_t room = std::min(i, n - 1 - i);
  if (room >= r) return centered_difference(i, r, false);
  if (!c.edge) return zero;
  if (room > 0) return centered_difference(i, room, false);
  return i == 0 ? forward : backward;
}

inline Difference second_difference_at(index_t i, index_t n, const DerivativeCase& c) {
  const index_t r = (c.order - 1) / 2;
  const index_t room = std::min(i, n - 1 - i);
  if (c.kind == DerivativeKind::centered && room >= r) return centered_difference(i, r, true);
  if (c.kind == DerivativeKind::centered && !c.edge) return {0, {}};
  index_t first = i - 1;
  if (c.kind == DerivativeKind::forward) first = i;
  if (c.kind == DerivativeKind::backward) first = i - 2;
  if (c.kind == DerivativeKind::centered && i == 0) first = 0;
  if (c.kind == DerivativeKind::centered && i == n - 1) first = n - 3;
  if (first < 0 || first + 3 > n) return {0, {}};
  return {first, {1, -2, 1}};
}

inline std::vector<DerivativeCase> first_derivatives() {
  using enum DerivativeKind;
  return {{centered},
          {centered, true},
          {centered, false, 5},
          {centered, true, 5},
          {centered, false, 7},
          {centered, true, 7},
          {centered, false, 9},
          {centered, true, 9},
          {forward},
          {backward}};
}
inline std::vector<DerivativeCase> second_derivatives() {
  using enum DerivativeKind;
  return {{centered},          {centered, true}, {centered, false, 5},
          {centered, true, 5}, {forward},        {backward}};
}

/// The entry of a matrix along an axis, for a row and a column that index the global array.
template <class At>
double entry_along(const Shape& shape, int axis, index_t row, index_t column, At difference_at) {
  const Index to = point_at(shape, row);
  Index from = point_at(shape, column);
  const index_t j = from[axis];
  from[axis] = to[axis];
  return from == to ? difference_at(to[axis], shape[axis]).at(j) : 0.0;
}

}  // namespace weft::test
