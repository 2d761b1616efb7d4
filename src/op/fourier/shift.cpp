#include <weft/op/fourier/shift.hpp>

#include <weft/array/distributed_array.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/fourier/fft.hpp>

#include "array/plan_agreement.hpp"
#include "core/hash.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace weft {
namespace {

template <Scalar T>
Spectrum<T> phase(double frequency, double shift) {
  const double turns = std::remainder(frequency * shift, 1.0);
  return Spectrum<T>(std::polar(1.0, -2 * std::numbers::pi * turns));
}

/// The factors exp(-2 pi i f s) of a spectrum whose traces have different shifts.
template <Scalar T>
LinearOperator<Spectrum<T>> phases_per_trace(const Layout& spectrum, int axis,
                                             const std::vector<double>& frequencies,
                                             const std::vector<double>& shifts) {
  DistributedArray<Spectrum<T>> factors(spectrum, uninitialized);
  const Shape& shape = spectrum.shape();
  factors.fill([&](const Index& at) {
    index_t trace = 0;
    for (int other = 0; other < shape.ndim(); ++other) {
      if (other != axis) trace = trace * shape[other] + at[other];
    }
    return phase<T>(frequencies[static_cast<std::size_t>(at[axis])],
                    shifts[static_cast<std::size_t>(trace)]);
  });
  return diagonal<Spectrum<T>>(factors);
}

template <Scalar T>
LinearOperator<Spectrum<T>> phases(const Layout& spectrum, int axis,
                                   const std::vector<double>& frequencies,
                                   const std::vector<double>& shifts) {
  if (shifts.size() != 1) return phases_per_trace<T>(spectrum, axis, frequencies, shifts);
  std::vector<Spectrum<T>> factors;
  for (const double frequency : frequencies) factors.push_back(phase<T>(frequency, shifts[0]));
  return diagonal<Spectrum<T>>(spectrum, factors, {.axis = axis});
}

std::string text_of(const ShiftOptions& options) {
  detail::Hash hash;
  for (const double each : options.shift) hash.add(std::bit_cast<std::uint64_t>(each));
  return fmt::format("{} shifts with hash {:x}, axis {}, sampling {}, nfft {}",
                     options.shift.size(), hash.value(), options.axis, options.sampling,
                     options.nfft.value_or(-1));
}

}  // namespace

template <Scalar T>
LinearOperator<T> shift(const Layout& layout, const ShiftOptions& options) {
  detail::agree_on_plan("shift", {&layout}, dtype_of<T>, text_of(options));
  const int axis = normalize_axis(options.axis, layout.ndim(), "shift");
  const index_t n = layout.shape()[axis];
  require(n > 0, "shift: axis {} of {} is empty", axis, to_string(layout.shape()));
  const index_t nfft = options.nfft.value_or(n);
  require(nfft >= n, "shift: nfft {} is less than the {} elements of axis {}", nfft, n, axis);
  const std::vector<double>& shifts = options.shift;
  const index_t traces = layout.shape().without(axis).count();
  require(shifts.size() == 1 || static_cast<index_t>(shifts.size()) == traces,
          "shift: got {} shifts for {} traces; pass one for all of them, or one per trace",
          shifts.size(), traces);
  const auto bad =
      std::find_if_not(shifts.begin(), shifts.end(), [](double s) { return std::isfinite(s); });
  require(bad == shifts.end(), "shift: shifts must be finite, got {}",
          bad == shifts.end() ? 0 : *bad);
  require(std::isfinite(options.sampling) && options.sampling > 0,
          "shift: sampling must be positive and finite, got {}", options.sampling);
  const FftNdOptions along = {
      .axes = {axis}, .nfft = {nfft}, .sampling = {options.sampling}, .transposed = true};
  const auto transform = fftnd<T>(layout, along);
  const std::vector<double> frequencies = fft_frequencies<T>(layout, along).front();
  return adjoint(transform) * (phases<T>(transform.range(), axis, frequencies, shifts) * transform);
}

#define INSTANTIATE(T) template LinearOperator<T> shift<T>(const Layout&, const ShiftOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
