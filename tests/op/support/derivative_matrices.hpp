#pragma once

// Matrices of derivative operators, from their definitions.

#include <weft/op/stencil/derivative_kind.hpp>

#include "op/support/check_operator.hpp"

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

inline Difference first_difference_at(index_t i, index_t n, const DerivativeCase& c) {
  const Difference zero{0, {}};
  const Difference forward{i, {-1, 1}};
  const Difference backward{i - 1, {-1, 1}};
  const Difference three{i - 1, {-0.5, 0, 0.5}};
  if (n == 1) return zero;
  if (c.kind == DerivativeKind::forward) return i == n - 1 ? zero : forward;
  if (c.kind == DerivativeKind::backward) return i == 0 ? zero : backward;
  if (i == 0) return c.edge ? forward : zero;
  if (i == n - 1) return c.edge ? backward : zero;
  if (c.order == 3) return three;
  if (i == 1 || i == n - 2) return c.edge ? three : zero;
  return {i - 2, {1. / 12, -8. / 12, 0, 8. / 12, -1. / 12}};
}

inline Difference second_difference_at(index_t i, index_t n, const DerivativeCase& c) {
  index_t first = i - 1;
  if (c.kind == DerivativeKind::forward) first = i;
  if (c.kind == DerivativeKind::backward) first = i - 2;
  if (c.edge && c.kind == DerivativeKind::centered && i == 0) first = 0;
  if (c.edge && c.kind == DerivativeKind::centered && i == n - 1) first = n - 3;
  if (first < 0 || first + 3 > n) return {0, {}};
  return {first, {1, -2, 1}};
}

inline std::vector<DerivativeCase> first_derivatives() {
  using enum DerivativeKind;
  return {{centered},          {centered, true}, {centered, false, 5},
          {centered, true, 5}, {forward},        {backward}};
}
inline std::vector<DerivativeCase> second_derivatives() {
  using enum DerivativeKind;
  return {{centered}, {centered, true}, {forward}, {backward}};
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
