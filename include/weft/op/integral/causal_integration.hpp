#pragma once

#include <weft/op/linear_operator.hpp>

#include <cstdint>

namespace weft {

enum class IntegrationKind : std::uint8_t {
  full,         // y[i] = dt (x[0] + ... + x[i])
  half,         // y[i] = dt (x[0] + ... + x[i-1] + x[i] / 2)
  trapezoidal,  // y[i] = dt (x[0] / 2 + x[1] + ... + x[i-1] + x[i] / 2), y[0] = 0
};

struct CausalIntegrationOptions {
  /// The axis to integrate along.
  int axis = -1;
  /// Distance between samples, dt.
  double sampling = 1;
  IntegrationKind kind = IntegrationKind::full;
  /// Omit y[0]: the range has one element less along the axis. Elements stay on their ranks.
  bool remove_first = false;
};

/// Integrals from the first sample of an axis to each of its samples. The adjoint integrates from
/// each sample to the last. PyLops: CausalIntegration, which has y[0] = dt x[0] / 2 for the
/// trapezoidal kind in forward, but not in its adjoint; here y[0] = 0 in both.
///
/// Sums are accumulated in double precision, in an order that does not depend on the number of
/// threads; results on different numbers of ranks agree to rounding. Communication: one all_gather
/// of the sums of lines if the axis is distributed, among the ranks along it.
template <Scalar T>
LinearOperator<T> causal_integration(const Layout& layout,
                                     const CausalIntegrationOptions& options = {});

}  // namespace weft
