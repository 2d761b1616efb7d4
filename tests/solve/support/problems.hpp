#pragma once

// Problems and expectations for several solvers.

#include <weft/solve/solver.hpp>

#include "solve/support/dense.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weft::test {

/// A diagonal operator: d(0), d(1) ... along the first axis.
LinearOperator<double> diagonal_of(const Layout& layout, const std::function<double(double)>& d);
/// The diagonal 1, 2, 3 ..., which takes as many iterations as there are unknowns.
LinearOperator<double> slow_operator(const Layout& layout);

enum class FailsIn { forward, adjoint };
/// Equals `like` until forward has been applied `good` times; then one direction gives NaN.
LinearOperator<double> failing_operator(const LinearOperator<double>& like, int good,
                                        FailsIn fails = FailsIn::forward);

/// Smoothing of a line: the identity stacked on differences.
struct SmoothLine {
  explicit SmoothLine(const Comm& comm);

  LinearOperator<double> a;
  DistributedArray<double> y;
  RealMatrix matrix;
  std::vector<double> data;
};

/// Separate problems d x = y for groups of ranks; that of the odd ranks takes more iterations.
struct GroupsProblem {
  GroupsProblem(const Comm& comm, double of_y);

  bool is_odd;
  Layout layout;
  DistributedArray<double> d;
  DistributedArray<double> y;
};

/// Calls solve(domain, range) for all kinds of layouts; the range is larger than the domain.
void for_problem_layouts(const Comm& comm,
                         const std::function<void(const Layout&, const Layout&)>& solve);

/// Calls check(D{}, R{}) for all pairs of scalars.
template <class Check>
void for_operator_scalars(Check check) {
#define CHECK_PAIR(D, R) check(D{}, R{});
  WEFT_FOR_EACH_OPERATOR(CHECK_PAIR)
#undef CHECK_PAIR
}

/// The tolerance for the precision of T.
template <Scalar T>
constexpr double by_precision(double in_double, double in_single) {
  return std::same_as<Real<T>, float> ? in_single : in_double;
}

void expect_contains(const std::string& message, const std::string& words);

/// Collective calls and sends of one iteration; expects the same number in each.
index_t calls_per_iteration(const Comm& comm, AnySolver& solver);

}  // namespace weft::test
