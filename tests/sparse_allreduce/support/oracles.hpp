#pragma once

// What the algorithms should compute, written with sets and sorting instead of radix selection.

#include <weft/comm/comm.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace weft::test {

/// Sums by index.
using Sparse = std::map<index_t, double>;

/// The k entries of largest magnitude, of equal ones those with the lower index.
inline Sparse largest(const Sparse& all, index_t k) {
  std::vector<std::pair<index_t, double>> entries(all.begin(), all.end());
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    const double x = std::abs(a.second);
    const double y = std::abs(b.second);
    return x != y ? x > y : a.first < b.first;
  });
  entries.resize(std::min(entries.size(), static_cast<std::size_t>(k)));
  return {entries.begin(), entries.end()};
}

inline Sparse indexed(const std::vector<double>& values) {
  Sparse all;
  for (std::size_t i = 0; i < values.size(); ++i) all[static_cast<index_t>(i)] = values[i];
  return all;
}

inline std::vector<double> filled(const Sparse& entries, index_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (const auto& [i, x] : entries) values[static_cast<std::size_t>(i)] = x;
  return values;
}

inline index_t count_within(const Sparse& entries, index_t begin, index_t end) {
  return std::distance(entries.lower_bound(begin), entries.lower_bound(end));
}

/// The gradients of all ranks, which every rank simulates, and their residuals.
class Simulation {
 public:
  Simulation(int ranks, index_t n)
      : n_(n), residuals_(static_cast<std::size_t>(ranks), std::vector<double>(n)) {}

  /// Adds gradients; every rank selects its k largest elements.
  template <class Gradient>
  void select(Gradient gradient, index_t k) {
    selected_.clear();
    sums_.clear();
    for (std::size_t p = 0; p < residuals_.size(); ++p) {
      const std::vector<double> values = gradient(static_cast<int>(p));
      for (std::size_t i = 0; i < values.size(); ++i) residuals_[p][i] += values[i];
      selected_.push_back(largest(indexed(residuals_[p]), k));
      for (const auto& [i, x] : selected_.back()) sums_[i] += x;
    }
  }
  /// Residuals lose what is selected and in the result.
  void keep(const Sparse& result) {
    for (std::size_t p = 0; p < residuals_.size(); ++p) {
      for (const auto& [i, x] : selected_[p]) {
        if (result.count(i) != 0) residuals_[p][static_cast<std::size_t>(i)] = 0;
      }
    }
  }
  const Sparse& selected(int rank) const { return selected_[static_cast<std::size_t>(rank)]; }
  const Sparse& sums() const { return sums_; }
  const std::vector<double>& residual(int rank) const {
    return residuals_[static_cast<std::size_t>(rank)];
  }

 private:
  index_t n_;
  std::vector<std::vector<double>> residuals_;
  std::vector<Sparse> selected_;
  Sparse sums_;
};

}  // namespace weft::test
