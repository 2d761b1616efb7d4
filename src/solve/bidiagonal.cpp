#include "solve/bidiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::detail {

void Bidiagonal::extend(double above, double diagonal) {
  if (!entries_.empty()) entries_.push_back(above);
  entries_.push_back(diagonal);
}

double Bidiagonal::largest_entry() const {
  return entries_.empty() ? 0 : *std::max_element(entries_.begin(), entries_.end());
}

std::size_t Bidiagonal::count_below(double bound) const {
  // The symmetric tridiagonal matrix with zeros on its diagonal and the entries beside it has the
  // eigenvalues +s and -s for each singular value s. By Sylvester's law of inertia, as many of them
  // are less than the bound as there are negative pivots after the bound is subtracted from the
  // diagonal.
  double pivot = -bound;
  std::size_t negative = 1;
  for (const double entry : entries_) {
    pivot = -bound - entry * (entry / pivot);
    if (pivot == 0) pivot = -std::numeric_limits<double>::min();
    if (pivot < 0) ++negative;
  }
  return negative - size();
}

double Bidiagonal::singular_value(std::size_t index) const {
  double high = 2 * largest_entry();
  double low = high * std::numeric_limits<double>::epsilon() / 1024;
  if (count_below(low) > index) return 0;
  // Bisects the logarithm of the interval, for a small relative error.
  while (high / low > 1 + 1e-14) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    if (middle <= low || middle >= high) break;
    (count_below(middle) > index ? high : low) = middle;
  }
  return high;
}

ConditionEstimate Bidiagonal::condition() const {
  ConditionEstimate estimate{.condition = std::numeric_limits<double>::infinity(),
                             .steps = static_cast<index_t>(size())};
  if (!(largest_entry() > 0)) return estimate;
  estimate.largest = singular_value(size() - 1);
  estimate.smallest = singular_value(0);
  if (estimate.smallest > 0) estimate.condition = estimate.largest / estimate.smallest;
  return estimate;
}

}  // namespace weft::detail
