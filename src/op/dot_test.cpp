#include <weft/op/dot_test.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>

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

namespace {

/// Estimates the norm of the rounding errors in f(v), where f(in, out) is linear up to rounding.
/// The rounding errors of f(3 v) differ from those of 3 f(v), while f(2 v) = 2 f(v) bit by bit.
/// Returns 0 if the latter does not hold, since f is not linear then.
template <Scalar T, Scalar U, class F>
double rounding_of(F f, const ConstArrayView<T>& v, const ConstArrayView<U>& of_v) {
  // All ranks call f equally often, even if groups of ranks get different results.
  DistributedArray<U> out(of_v.layout(), uninitialized);
  f(2 * v, out);
  axpy(-2, of_v, out);
  const bool is_linear = norm(out, std::numeric_limits<double>::infinity()) == 0;
  f(3 * v, out);
  axpy(-3, of_v, out);
  const double rounding = norm(out) / 3;
  return is_linear ? rounding : 0;
}

bool have_same_groups(const Layout& a, const Layout& b) {
  if (a.is_stack() || b.is_stack()) return !a.is_within_groups() && !b.is_within_groups();
  for (int rank = 0; rank < a.comm().size(); ++rank) {
    if (a.group(rank) != b.group(rank)) return false;
  }
  return true;
}

/// Whether the condition holds on any rank that applies the operator; groups of ranks may have
/// different results.
bool for_any_rank(bool condition, const Layout& domain, const Layout& range) {
  if (have_same_groups(domain, range)) return condition;
  return domain.comm().allreduce(condition ? 1 : 0, ReduceOp::max) > 0;
}

}  // namespace

template <Scalar D, Scalar R>
DotTestResult dot_test(const LinearOperator<D, R>& a, const DotTestOptions& options) {
  // Comparisons with NaN are false.
  require(options.tolerance >= 0,
          "dot_test: tolerance must be positive, or 0 for the default, got {}", options.tolerance);
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
  constexpr double epsilon = std::max<double>(std::numeric_limits<Real<D>>::epsilon(),
                                              std::numeric_limits<Real<R>>::epsilon());
  result.tolerance = options.tolerance > 0 ? options.tolerance : 100 * epsilon;
  double scale = std::max(norm(ax) * norm(y), norm(x) * norm(ahy));
  const double difference = std::abs(result.forward - result.adjoint);
  result.error = difference == 0 ? 0 : difference / scale;
  if (!for_any_rank(!result.passed(), a.domain(), a.range())) return result;

  // If large intermediate results cancel, A x consists of rounding errors, whose size tells how
  // large the intermediate results were.
  const double forward =
      rounding_of([&](const auto& in, auto& out) { a.forward(in, out); }, x, ax) * norm(y);
  const double adjoint =
      rounding_of([&](const auto& in, auto& out) { a.adjoint(in, out); }, y, ahy) * norm(x);
  scale = std::max(scale, std::max(forward, adjoint) / epsilon);
  result.error = difference == 0 ? 0 : difference / scale;
  return result;
}

#define INSTANTIATE(D, R) \
  template DotTestResult dot_test(const LinearOperator<D, R>&, const DotTestOptions&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
