#pragma once

// Extreme eigenvalues and singular values of operators, of which no matrix is needed. Collective;
// all ranks get the same and stop in the same iteration. Within groups of ranks, each group has an
// operator and results of its own.

#include <weft/array/distributed_array.hpp>
#include <weft/op/linear_operator.hpp>

#include <cstdint>

namespace weft {

/// All ranks pass the same.
struct PowerIterationOptions {
  index_t max_iterations = 100;
  /// Stops when the eigenvalue has changed by less than that, relative to itself. The error may be
  /// larger where the two largest eigenvalues are close to one another.
  double tolerance = 1e-6;
  /// Of the random array to start with.
  std::uint64_t seed = 1;
};

template <Scalar T>
struct LargestEigenvalue {
  /// Approaches the largest one from below.
  double eigenvalue = 0;
  index_t iterations = 0;
  bool converged = false;
  /// Of norm 1, unless the operator is zero.
  DistributedArray<T> vector;
};

template <Scalar D>
struct LargestSingularValue {
  double singular_value = 0;
  index_t iterations = 0;
  bool converged = false;
  /// In the domain of the operator.
  DistributedArray<D> vector;
};

/// The largest eigenvalue of a Hermitian, positive semi-definite operator: applies it to a random
/// array again and again. One collective call per iteration. Throws if the operator turns out to be
/// something else, or gives numbers that are not finite.
template <Scalar T>
LargestEigenvalue<T> power_iteration(const LinearOperator<T>& a,
                                     const PowerIterationOptions& options = {});

/// The norm of A: the root of the largest eigenvalue of AᴴA, whose tolerance this is.
template <Scalar D, Scalar R>
LargestSingularValue<D> largest_singular_value(const LinearOperator<D, R>& a,
                                               const PowerIterationOptions& options = {});

struct ConditionOptions {
  /// Each applies A and Aᴴ once. More steps, better bounds.
  index_t steps = 30;
  std::uint64_t seed = 1;
};

struct ConditionEstimate {
  /// largest / smallest; infinity if smallest is zero, but for rounding errors.
  double condition = 0;
  /// The largest singular value of A is at least this,
  double largest = 0;
  /// and the smallest one at most this.
  double smallest = 0;
  /// Fewer than asked for if those have shown all there is to see.
  index_t steps = 0;
};

/// The ratio of the largest and the smallest singular value of A, of which there are as many as
/// there are unknowns or data, whichever is less. The bidiagonalisation of Golub and Kahan makes a
/// small matrix of A, whose singular values lie between those of A: but for rounding errors, the
/// estimate is a lower bound, and it grows with the number of steps. Large singular values are
/// found soon, small ones late: where the estimate still grows, the condition is worse. That of a
/// singular operator grows to infinity, or to what rounding errors leave of it. Two collective
/// calls per step.
template <Scalar D, Scalar R>
ConditionEstimate condition_estimate(const LinearOperator<D, R>& a,
                                     const ConditionOptions& options = {});

}  // namespace weft
