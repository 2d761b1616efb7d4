#pragma once

#include <weft/solve/power_iteration.hpp>

#include <vector>

namespace weft::detail {

/// A small upper bidiagonal matrix that grows by columns.
class Bidiagonal {
 public:
  /// Appends a column. In the first column, `above` is ignored.
  void extend(double above, double diagonal);

  double largest_entry() const;
  /// The condition number, from the largest and the smallest singular value.
  ConditionEstimate condition() const;

 private:
  std::size_t size() const { return (entries_.size() + 1) / 2; }
  /// The number of singular values less than `bound`, which must be positive.
  std::size_t count_below(double bound) const;
  /// The singular value at this index, in ascending order.
  double singular_value(std::size_t index) const;

  std::vector<double> entries_;  // by columns: d0, e1, d1, e2, d2 ...
};

}  // namespace weft::detail
