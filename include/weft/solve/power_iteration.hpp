#pragma once

// Extreme eigenvalues and singular values of operators, without their matrices. Collective: all
// ranks get the same results and stop in the same iteration. Within groups of ranks, each group has
// its own operator and its own results.

#include <weft/array/distributed_array.hpp>
#include <weft/op/linear_operator.hpp>

#include <cstdint>

namespace weft {

/// All ranks must pass the same values.
struct PowerIterationOptions {
  index_t max_iterations = 100;
  /// Stops when the relative change of the eigenvalue is at most this. The error may be larger if
  /// the two largest eigenvalues are close to each other.
  double tolerance = 1e-6;
  /// Seed of the random array to start with.
  std::uint64_t seed = 1;
};

template <Scalar T>
struct LargestEigenvalue {
  /// Converges to the largest eigenvalue from below.
  double eigenvalue = 0;
  index_t iterations = 0;
  bool converged = false;
  /// Has norm 1, unless the operator is zero.
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

/// The largest eigenvalue of a Hermitian, positive semi-definite operator, by power iterations from
/// a random array. One collective call per iteration. Throws if an iteration shows that the
/// operator is not positive semi-definite, or returns values that are not finite.
template <Scalar T>
LargestEigenvalue<T> power_iteration(const LinearOperator<T>& a,
                                     const PowerIterationOptions& options = {});

/// The norm of A: the root of the largest eigenvalue of AᴴA, to which the tolerance applies.
template <Scalar D, Scalar R>
LargestSingularValue<D> largest_singular_value(const LinearOperator<D, R>& a,
                                               const PowerIterationOptions& options = {});

struct ConditionOptions {
  /// Each step applies A and Aᴴ once and improves the bounds.
  index_t steps = 30;
  std::uint64_t seed = 1;
};

struct ConditionEstimate {
  /// largest / smallest; infinity if smallest is zero up to rounding errors.
  double condition = 0;
  /// A lower bound of the largest singular value of A.
  double largest = 0;
  /// An upper bound of the smallest singular value of A.
  double smallest = 0;
  /// Steps done: fewer than requested if the bidiagonalisation is complete before.
  index_t steps = 0;
};

/// Estimates the ratio of the largest to the smallest singular value of A, which has as many
/// singular values as there are unknowns or data, whichever are fewer. Golub-Kahan
/// bidiagonalisation projects A to a small matrix whose singular values lie between those of A: up
/// to rounding errors, the estimate is a lower bound that grows with the number of steps. Large
/// singular values converge early, small ones late: if the estimate is still growing, the condition
/// number is larger. For a singular operator it grows to infinity, or to the limit set by rounding
/// errors. Two collective calls per step.
template <Scalar D, Scalar R>
ConditionEstimate condition_estimate(const LinearOperator<D, R>& a,
                                     const ConditionOptions& options = {});

}  // namespace weft
