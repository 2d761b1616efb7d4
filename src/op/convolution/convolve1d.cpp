#include <weft/op/convolution/convolve1d.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/fourier/fft.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/convolution/axis_filter.hpp"
#include "op/fourier/fast_length.hpp"
#include "op/fourier/fourier_plan.hpp"
#include "op/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

/// Filters at least this long are applied by FFT. Measured on lines of 1024 elements; rows
/// "convolve1d 1" and "convolve1d by fft" of threads_bench show both methods.
constexpr std::size_t min_fft_taps = 200;

template <Scalar T>
struct Filter {
  std::vector<T> taps;
  index_t offset;

  index_t count() const { return static_cast<index_t>(taps.size()); }
};

/// The filter without taps that reach beyond a line of n elements from any position.
template <Scalar T>
Filter<T> trimmed(std::span<const T> h, index_t offset, index_t n) {
  const index_t begin = std::max<index_t>(0, offset - n + 1);
  const index_t end = std::min(static_cast<index_t>(h.size()), offset + n);
  return {{h.begin() + begin, h.begin() + end}, offset - begin};
}

template <Scalar T>
LinearOperator<T> direct_convolution(const Layout& layout, int axis, const Filter<T>& h) {
  std::vector<T> reversed(h.taps.rbegin(), h.taps.rend());
  std::vector<T> conjugated = h.taps;
  for (T& tap : conjugated) tap = detail::conj_of(tap);
  return detail::axis_filter<T>(fmt::format("convolution along axis {}", axis), layout, axis,
                                {h.count(), h.count() - 1 - h.offset, std::move(reversed)},
                                {h.count(), h.offset, std::move(conjugated)});
}

/// The spectrum of the filter, with lag 0 at position 0, computed in double precision on the device
/// of the transform: a build may have transforms for GPUs only.
template <Scalar T>
std::vector<Spectrum<T>> spectrum_of(const Filter<T>& h, index_t nfft, Device device) {
  using Z = std::complex<double>;
  std::vector<Z> wrapped(static_cast<std::size_t>(nfft));
  for (index_t j = 0; j < h.count(); ++j) {
    const index_t position = (j - h.offset + nfft) % nfft;
    wrapped[static_cast<std::size_t>(position)] = Z(h.taps[static_cast<std::size_t>(j)]);
  }
  const Layout layout = Layout::local({nfft}).on(device);
  const auto transform = fft<Z>(layout, {.norm = FftNorm::none});
  const std::vector<Z> spectrum =
      (transform * DistributedArray<Z>::from_global(layout, wrapped)).to_host();
  const index_t count = is_complex<T> ? nfft : nfft / 2 + 1;
  return {spectrum.begin(), spectrum.begin() + count};
}

template <Scalar T>
LinearOperator<T> fft_convolution(const Layout& layout, int axis, const Filter<T>& h) {
  // Long enough that wrapped elements are truncated.
  const index_t reach = std::max(h.offset, h.count() - 1 - h.offset);
  const index_t nfft = detail::fast_length(layout.shape()[axis] + reach);
  const auto transform = fftnd<T>(layout, {.axes = {axis}, .nfft = {nfft}, .transposed = true});
  const std::vector<Spectrum<T>> spectrum = spectrum_of(h, nfft, layout.device());
  return adjoint(transform) *
         (diagonal<Spectrum<T>>(transform.range(), spectrum, {.axis = axis}) * transform);
}

}  // namespace

template <Scalar T>
LinearOperator<T> convolve1d(const Layout& layout, std::type_identity_t<std::span<const T>> filter,
                             const Convolve1DOptions& options) {
  detail::agree_on_plan(
      "convolve1d", {&layout}, dtype_of<T>,
      fmt::format("axis {}, {} taps, offset {}, method {}", options.axis, filter.size(),
                  options.offset, static_cast<int>(options.method)));
  detail::require_enumerator(options.method, ConvolutionMethod::fft, "convolve1d",
                             "ConvolutionMethod");
  const int axis = normalize_axis(options.axis, layout.ndim(), "convolve1d");
  const auto taps = static_cast<index_t>(filter.size());
  require(taps > 0, "convolve1d: the filter is empty");
  require(options.offset >= 0 && options.offset < taps,
          "convolve1d: offset {} is outside the filter, which has {} elements", options.offset,
          taps);
  if (layout.count() == 0) return identity<T>(layout);
  const Filter<T> h = trimmed<T>(filter, options.offset, layout.shape()[axis]);
  const bool is_long = h.taps.size() >= min_fft_taps && detail::has_fourier(layout.device());
  switch (options.method) {
    case ConvolutionMethod::direct: return direct_convolution(layout, axis, h);
    case ConvolutionMethod::fft: return fft_convolution(layout, axis, h);
    case ConvolutionMethod::automatic: break;
  }
  return is_long ? fft_convolution(layout, axis, h) : direct_convolution(layout, axis, h);
}

#define INSTANTIATE(T)                      \
  template LinearOperator<T> convolve1d<T>( \
      const Layout&, std::type_identity_t<std::span<const T>>, const Convolve1DOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
