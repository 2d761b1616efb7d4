#pragma once

#include <weft/op/linear_operator.hpp>

#include <complex>
#include <cstdint>
#include <string>

namespace weft {

struct DotTestOptions {
  std::uint64_t seed = 1;
  /// Of the relative error; 0 takes 100 times the precision of the scalars.
  double tolerance = 0;
};

struct DotTestResult {
  /// <A x, y> and <x, Aᴴ y>; their real parts only, unless the operator is complex linear.
  std::complex<double> forward;
  std::complex<double> adjoint;
  /// Their difference, relative to the norms of the vectors, which bound both; or, if intermediate
  /// results cancel, to the size of those, estimated from rounding errors.
  double error = 0;
  double tolerance = 0;

  bool passed() const { return error <= tolerance; }
  explicit operator bool() const { return passed(); }
};

std::string to_string(const DotTestResult& result);

/// Checks adjoint() against forward() with random vectors that do not depend on the number of
/// ranks. Collective; all ranks (of a group) get the same result. Applies the operator once each
/// way, and twice more if that fails, to estimate rounding errors.
template <Scalar D, Scalar R>
DotTestResult dot_test(const LinearOperator<D, R>& a, const DotTestOptions& options = {});

}  // namespace weft
