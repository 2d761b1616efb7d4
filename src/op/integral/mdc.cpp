#include <weft/op/integral/mdc.hpp>

#include <weft/array/arithmetic.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/redistribute.hpp>
#include <weft/op/basic/restriction.hpp>
#include <weft/op/fourier/fft.hpp>
#include <weft/op/integral/fredholm1.hpp>

#include "core/option_checks.hpp"
#include "op/checks.hpp"

#include <cmath>
#include <numeric>

namespace weft {
namespace {

/// The transform restricted to the frequencies of the kernel, in the layout that the kernel needs.
template <Scalar R, Scalar T>
LinearOperator<R, T> low_frequencies(const LinearOperator<R, T>& transform, const Layout& wanted,
                                     const char* what) {
  const Layout& given = transform.range();
  const bool fits = !given.is_stack() && given.ndim() == 3 && given.comm() == wanted.comm() &&
                    given.shape()[0] >= wanted.shape()[0] &&
                    given.shape()[1] == wanted.shape()[1] && given.shape()[2] == wanted.shape()[2];
  require(fits, "mdc: {}",
          detail::difference(fmt::format("the transform of the {} returns", what), given,
                             "the kernel expects", wanted));
  std::vector<index_t> low(static_cast<std::size_t>(wanted.shape()[0]));
  std::iota(low.begin(), low.end(), index_t{0});
  const auto kept = restriction<T>(given, low, {.axis = 0});
  return redistribute<T>(kept.range(), wanted) * kept * transform;
}

}  // namespace

template <std::floating_point R>
LinearOperator<R> mdc(DistributedArray<std::complex<R>> kernel,
                      const LinearOperator<R, std::complex<R>>& of_model,
                      const LinearOperator<R, std::complex<R>>& of_data,
                      const MdcOptions& options) {
  const Layout& model = of_model.domain();
  require(!model.is_stack() && model.ndim() == 3,
          "mdc: expected a model with three axes (times, ny, nv), but the transform has domain {}",
          to_string(model));
  if (!options.prescaled) {
    detail::require_positive(options.dt, "mdc", "dt");
    detail::require_positive(options.dr, "mdc", "dr");
  }
  DistributedArray<std::complex<R>> factors = options.conj ? conj(kernel) : std::move(kernel);
  const auto product = fredholm1(std::move(factors), {.nz = model.shape()[2]});
  const double weight = std::sqrt(static_cast<double>(model.shape()[0])) * options.dt * options.dr;
  const auto to_frequencies = low_frequencies(of_model, product.domain(), "model");
  const auto to_times = adjoint(low_frequencies(of_data, product.range(), "data"));
  return to_times * (static_cast<R>(options.prescaled ? 1 : weight) * product) * to_frequencies;
}

template <std::floating_point R>
LinearOperator<R> mdc(DistributedArray<std::complex<R>> kernel, const MdcTimes& times,
                      const MdcOptions& options) {
  const Layout& layout = kernel.layout();
  require(!layout.is_stack() && layout.ndim() == 3,
          "mdc: expected a kernel with three axes (frequencies, nx, ny), but G is {}",
          to_string(layout));
  require(times.nt > 0 && times.nv > 0, "mdc: nt and nv must be positive, got {} and {}", times.nt,
          times.nv);
  require(!times.twosided || times.nt % 2 == 1,
          "mdc: nt must be odd for times on both sides of zero, got {}", times.nt);
  require(layout.shape()[0] <= times.nt / 2 + 1,
          "mdc: the kernel has {} frequencies, but nt = {} allows at most {}", layout.shape()[0],
          times.nt, times.nt / 2 + 1);
  const auto transform = [&](index_t receivers, bool shifted) {
    const Shape shape = {times.nt, receivers, times.nv};
    return fft<R>(Layout::scatter(layout.comm(), shape, 1).on(layout.device()),
                  {.axis = 0, .ifftshift_before = shifted});
  };
  const auto of_model = transform(layout.shape()[2], times.twosided);
  const auto of_data = transform(layout.shape()[1], false);
  return mdc(std::move(kernel), of_model, of_data, options);
}

#define INSTANTIATE(R)                                                                          \
  template LinearOperator<R> mdc(DistributedArray<std::complex<R>>,                             \
                                 const LinearOperator<R, std::complex<R>>&,                     \
                                 const LinearOperator<R, std::complex<R>>&, const MdcOptions&); \
  template LinearOperator<R> mdc(DistributedArray<std::complex<R>>, const MdcTimes&,            \
                                 const MdcOptions&);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft
