#pragma once

// Problems that several solvers are tested with, and what is expected of all of them.

#include <weft/solve/solver.hpp>

#include "solve/support/dense.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weft::test {

/// Diagonal, so that everything is known: d(0), d(1) ... along the first axis.
LinearOperator<double> diagonal_of(const Layout& layout, const std::function<double(double)>& d);
/// With 1, 2, 3 ..., which takes as many iterations as there are unknowns.
LinearOperator<double> slow_operator(const Layout& layout);

enum class FailsIn { forward, adjoint };
/// Is like another, until its forward has been applied `good` times: from then on, one direction
/// gives NaN.
LinearOperator<double> failing_operator(const LinearOperator<double>& like, int good,
                                        FailsIn fails = FailsIn::forward);

/// A line that is close to data and changes little: the identity over differences.
struct SmoothLine {
  explicit SmoothLine(const Comm& comm);

  LinearOperator<double> a;
  DistributedArray<double> y;
  RealMatrix matrix;
  std::vector<double> data;
};

/// Groups of ranks with problems of their own, d x = y, of which that of odd ranks takes longer.
struct GroupsProblem {
  GroupsProblem(const Comm& comm, double of_y);

  bool is_odd;
  Layout layout;
  DistributedArray<double> d;
  DistributedArray<double> y;
};

/// Calls solve(domain, range) for layouts of all kinds on both sides; the range is the larger one.
void for_problem_layouts(const Comm& comm,
                         const std::function<void(const Layout&, const Layout&)>& solve);

/// Calls check(D{}, R{}) for all pairs of scalars.
template <class Check>
void for_operator_scalars(Check check) {
#define CHECK_PAIR(D, R) check(D{}, R{});
  WEFT_FOR_EACH_OPERATOR(CHECK_PAIR)
#undef CHECK_PAIR
}

/// As double precision, or single precision, can be expected to give.
template <Scalar T>
constexpr double by_precision(double in_double, double in_single) {
  return std::same_as<Real<T>, float> ? in_single : in_double;
}

void expect_says(const std::string& message, const std::string& words);

/// Collective calls and sends of one iteration; all make as many.
index_t calls_per_iteration(const Comm& comm, AnySolver& solver);

}  // namespace weft::test
