#pragma once

#include <weft/op/linear_operator.hpp>

#include <complex>
#include <cstdint>
#include <string>

namespace weft {

struct DotTestOptions {
  /// Seed of the random vectors.
  std::uint64_t seed = 1;
  /// Bound for the relative error; 0 means 100 times the machine epsilon of the scalars.
  double tolerance = 0;
};

struct DotTestResult {
  /// <A x, y> and <x, Aᴴ y>; only their real parts unless the operator is complex-linear.
  std::complex<double> forward;
  std::complex<double> adjoint;
  /// |<A x, y> - <x, Aᴴ y>| relative to max(|A x| |y|, |x| |Aᴴ y|). If intermediate results of the
  /// operator cancel, relative to their size, which is estimated from rounding errors.
  double error = 0;
  double tolerance = 0;

  bool passed() const { return error <= tolerance; }
  explicit operator bool() const { return passed(); }
};

std::string to_string(const DotTestResult& result);

/// Checks adjoint() against forward() with random vectors: <A x, y> = <x, Aᴴ y>. The vectors do not
/// depend on the number of ranks. Collective; all ranks (of a group) get the same result. Applies
/// forward and adjoint once each, and twice more to estimate rounding errors if that fails. PyLops:
/// dottest.
template <Scalar D, Scalar R>
DotTestResult dot_test(const LinearOperator<D, R>& a, const DotTestOptions& options = {});

}  // namespace weft
