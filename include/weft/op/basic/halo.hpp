#pragma once

#include <weft/array/halo_exchange.hpp>
#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft {

struct HaloOperatorOptions {
  Boundary boundary = Boundary::zero;
  /// Leave out what lies beyond the ends of the global array, rather than filling it with zeros.
  bool trim = false;
};

/// Gives each rank its part together with the elements around it, so many before and after along
/// each axis (one width per axis). One message to each rank that needs something; the adjoint adds
/// the copies of an element up, and so is a true adjoint.
///
/// The range puts the extended parts side by side: it is the array's grid of ranks with longer
/// parts, and its shape the sum of them. Ranks without elements stay without.
template <Scalar T>
LinearOperator<T> halo(const Layout& layout, const std::vector<AxisPadding>& widths,
                       const HaloOperatorOptions& options = {});

}  // namespace weft
