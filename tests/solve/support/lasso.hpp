#pragma once

// The lasso by coordinate descent.

#include <weft/solve/ista.hpp>

#include "solve/support/dense.hpp"

#include <algorithm>
#include <cmath>

namespace weft::test {

inline double soft(double u, double by) {
  return std::copysign(std::max(0.0, std::abs(u) - by), u);
}

/// Minimises 1/2 |y - A x|² + eps |x|₁ by coordinate descent.
inline std::vector<double> lasso(const RealMatrix& a, const std::vector<double>& y, double eps) {
  const RealMatrix rows = transposed(a);
  std::vector<double> x(static_cast<std::size_t>(a.columns));
  std::vector<double> residual = y;
  for (int sweep = 0; sweep < 20000; ++sweep) {
    double change = 0;
    for (index_t j = 0; j < a.columns; ++j) {
      double square = 0;
      double along = 0;
      for (index_t i = 0; i < a.rows; ++i) {
        square += rows(j, i) * rows(j, i);
        along += rows(j, i) * residual[static_cast<std::size_t>(i)];
      }
      double& x_j = x[static_cast<std::size_t>(j)];
      const double next = soft(x_j + along / square, eps / square);
      for (index_t i = 0; i < a.rows; ++i) {
        residual[static_cast<std::size_t>(i)] -= (next - x_j) * rows(j, i);
      }
      change = std::max(change, std::abs(next - x_j));
      x_j = next;
    }
    if (change < 1e-15) break;
  }
  return x;
}

/// Options for the most accurate result.
inline const SolverOptions exactly{.max_iterations = 20000, .relative_tolerance = 1e-14};

}  // namespace weft::test
