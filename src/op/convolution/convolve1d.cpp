#include <weft/op/convolution/convolve1d.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/fourier/fft.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/convolution/axis_filter.hpp"
#include "op/fourier/fourier_plan.hpp"
#include "op/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

/// From this many taps on, products of spectra are faster than sums. Measured, on lines of 1024.
constexpr std::size_t long_filter = 200;

template <Scalar T>
struct Filter {
  std::vector<T> taps;
  index_t offset;

  index_t count() const { return static_cast<index_t>(taps.size()); }
};

/// Without the taps that reach over the whole line.
template <Scalar T>
Filter<T> trimmed(std::span<const T> h, index_t offset, index_t n) {
  const index_t begin = std::max<index_t>(0, offset - n + 1);
  const index_t end = std::min(static_cast<index_t>(h.size()), offset + n);
  return {{h.begin() + begin, h.begin() + end}, offset - begin};
}

template <Scalar T>
LinearOperator<T> by_sums(const Layout& layout, int axis, const Filter<T>& h) {
  std::vector<T> reversed(h.taps.rbegin(), h.taps.rend());
  std::vector<T> conjugated = h.taps;
  for (T& tap : conjugated) tap = detail::conj_of(tap);
  return detail::axis_filter<T>(fmt::format("convolution along axis {}", axis), layout, axis,
                                {h.count(), h.count() - 1 - h.offset, std::move(reversed)},
                                {h.count(), h.offset, std::move(conjugated)});
}

/// The filter's spectrum of length nfft, in double precision; its origin is at place 0.
template <Scalar T>
std::vector<Spectrum<T>> spectrum_of(const Filter<T>& h, index_t nfft) {
  using Z = std::complex<double>;
  const Layout layout = Layout::local({nfft});
  DistributedArray<Z> wrapped(layout);
  for (index_t j = 0; j < h.count(); ++j) {
    const index_t place = (j - h.offset + nfft) % nfft;
    wrapped.local()[static_cast<std::size_t>(place)] = Z(h.taps[static_cast<std::size_t>(j)]);
  }
  const auto spectrum = fft<Z>(layout, {.norm = FftNorm::none}) * wrapped;
  const index_t count = is_complex<T> ? nfft : nfft / 2 + 1;
  std::vector<Spectrum<T>> result;
  for (const Z& value : spectrum.local().first(static_cast<std::size_t>(count))) {
    result.emplace_back(value);
  }
  return result;
}

/// A length without large prime factors, which transforms are fast for.
index_t fast_length(index_t n) {
  const auto is_smooth = [](index_t number) {
    for (const index_t prime : {2, 3, 5, 7}) {
      while (number % prime == 0) number /= prime;
    }
    return number == 1;
  };
  while (!is_smooth(n)) ++n;
  return n;
}

template <Scalar T>
LinearOperator<T> by_fft(const Layout& layout, int axis, const Filter<T>& h) {
  // Long enough that what wraps around is cut off.
  const index_t reach = std::max(h.offset, h.count() - 1 - h.offset);
  const index_t nfft = fast_length(layout.shape()[axis] + reach);
  const auto there = fftnd<T>(layout, {.axes = {axis}, .nfft = {nfft}, .transposed = true});
  const std::vector<Spectrum<T>> spectrum = spectrum_of(h, nfft);
  return adjoint(there) * (diagonal<Spectrum<T>>(there.range(), spectrum, {.axis = axis}) * there);
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
  const bool is_long = h.taps.size() >= long_filter && detail::has_fourier(layout.device());
  switch (options.method) {
    case ConvolutionMethod::direct: return by_sums(layout, axis, h);
    case ConvolutionMethod::fft: return by_fft(layout, axis, h);
    case ConvolutionMethod::automatic: break;
  }
  return is_long ? by_fft(layout, axis, h) : by_sums(layout, axis, h);
}

#define INSTANTIATE(T)                      \
  template LinearOperator<T> convolve1d<T>( \
      const Layout&, std::type_identity_t<std::span<const T>>, const Convolve1DOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
