#pragma once

#include <weft/solve/power_iteration.hpp>

#include <cstdint>

namespace weft::detail {

enum class PowerOutcome : std::uint8_t { converged, iteration_limit, not_positive, not_finite };

template <Scalar T>
struct PowerResult {
  LargestEigenvalue<T> largest;
  /// |A v| for the iterate v before the returned one. For a positive operator it is at least the
  /// eigenvalue found, and at most the largest one.
  double growth = 0;
  PowerOutcome outcome = PowerOutcome::iteration_limit;
};

/// Power iterations on an operator that maps a space to itself; the caller reports failures. For an
/// operator BᴴB, `between` is the range of B: if groups of ranks have that in common, they have a
/// common result. Collective.
template <Scalar T>
PowerResult<T> power_steps(const LinearOperator<T>& a, const Layout& between,
                           const PowerIterationOptions& options);

}  // namespace weft::detail
