#pragma once

#include <weft/solve/power_iteration.hpp>

#include <cstdint>

namespace weft::detail {

/// How power iterations end.
enum class PowerEnd : std::uint8_t { converged, iteration_limit, not_positive, not_finite };

template <Scalar T>
struct PowerSteps {
  LargestEigenvalue<T> found;
  /// |A v| for the last v but one: for a positive operator, at least the eigenvalue that was found,
  /// and at most the largest.
  double growth = 0;
  PowerEnd end = PowerEnd::iteration_limit;
};

/// The loop of all power iterations, with an operator that maps a space to itself. What it means
/// that they failed, the caller says. Of BᴴB, `between` is the range of B: if that is common to
/// groups of ranks, so is the result. Collective.
template <Scalar T>
PowerSteps<T> power_steps(const LinearOperator<T>& a, const Layout& between,
                          const PowerIterationOptions& options);

}  // namespace weft::detail
