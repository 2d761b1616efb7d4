#pragma once

#include <weft/solve/power_iteration.hpp>

#include <vector>

namespace weft::detail {

/// A small upper bidiagonal matrix, which grows.
class Bidiagonal {
 public:
  /// By a column with two entries; that above the diagonal is of no meaning in the first one.
  void extend(double above, double diagonal);

  double largest_entry() const;
  /// From its largest and its smallest singular value.
  ConditionEstimate condition() const;

 private:
  std::size_t size() const { return (entries_.size() + 1) / 2; }
  /// How many of the singular values are less than `bound`, which is positive.
  std::size_t count_below(double bound) const;
  /// The one before which there are `smaller` ones.
  double singular_value(std::size_t smaller) const;

  std::vector<double> entries_;  // row by row: d0, e1, d1, e2, d2 ...
};

}  // namespace weft::detail
