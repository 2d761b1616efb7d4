#include <weft/op/dot_test.hpp>

#include <weft/array/random.hpp>
#include <weft/array/reductions.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace weft {

std::string to_string(const DotTestResult& result) {
  return fmt::format(
      "dot test {}: <Ax, y> = {:.15g}{:+.15g}i, <x, A'y> = {:.15g}{:+.15g}i, error {:.2e}, "
      "tolerance {:.2e}",
      result.passed() ? "passed" : "failed", result.forward.real(), result.forward.imag(),
      result.adjoint.real(), result.adjoint.imag(), result.error, result.tolerance);
}

template <Scalar D, Scalar R>
DotTestResult dot_test(const LinearOperator<D, R>& a, const DotTestOptions& options) {
  const auto x = random_array<D>(a.domain(), options.seed);
  const auto y = random_array<R>(a.range(), options.seed + 1);
  const DistributedArray<R> ax = a * x;
  DistributedArray<D> ahy(a.domain(), uninitialized);
  a.adjoint(y, ahy);

  DotTestResult result;
  result.forward = dot(ax, y);
  result.adjoint = dot(x, ahy);
  if (!a.is_complex_linear()) {
    result.forward.imag(0);
    result.adjoint.imag(0);
  }
  const double scale = std::max(norm(ax) * norm(y), norm(x) * norm(ahy));
  const double difference = std::abs(result.forward - result.adjoint);
  result.error = difference == 0 ? 0 : difference / scale;
  result.tolerance =
      options.tolerance > 0 ? options.tolerance : 100.0 * std::numeric_limits<Real<R>>::epsilon();
  return result;
}

#define INSTANTIATE(D, R) \
  template DotTestResult dot_test(const LinearOperator<D, R>&, const DotTestOptions&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
