#include "op/fourier/fft_options.hpp"

#include <weft/core/error.hpp>

#include "op/axis_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace detail {
namespace {

/// The value for the i-th of `count` axes; the default if the list is empty.
template <class T>
T value_of(const std::vector<T>& values, std::size_t i, std::size_t count, T default_value,
           const char* what, const char* who) {
  return values.empty() ? default_value : value_for_axis(values, i, count, what, who);
}

std::vector<int> checked_axes(const Layout& layout, std::vector<int> axes, const char* who) {
  if (axes.empty()) {
    for (int axis = 0; axis < layout.ndim(); ++axis) axes.push_back(axis);
  }
  require(!axes.empty(), "{}: the array has no axes", who);
  return distinct_axes(std::move(axes), layout.ndim(), who);
}

}  // namespace

std::vector<FftAxis> fft_axes(const Layout& layout, const FftNdOptions& options, bool real,
                              const char* who) {
  const std::vector<int> axes = checked_axes(layout, options.axes, who);
  const std::size_t count = axes.size();
  std::vector<FftAxis> result;
  for (std::size_t i = 0; i < count; ++i) {
    const int axis = axes[i];
    const index_t n = layout.shape()[axis];
    require(n > 0, "{}: axis {} of {} is empty", who, axis, to_string(layout.shape()));
    const index_t nfft = value_of(options.nfft, i, count, n, "nfft", who);
    require(nfft > 0, "{}: nfft along axis {} must be at least 1, got {}", who, axis, nfft);
    const double sampling = value_of(options.sampling, i, count, 1.0, "sampling", who);
    require(std::isfinite(sampling) && sampling > 0,
            "{}: sampling along axis {} must be positive and finite, got {}", who, axis, sampling);
    result.push_back(
        {.axis = axis,
         .nfft = nfft,
         .half = real && i + 1 == count,
         .sampling = sampling,
         .ifftshift = value_of(options.ifftshift_before, i, count, false, "ifftshift_before", who),
         .fftshift = value_of(options.fftshift_after, i, count, false, "fftshift_after", who)});
  }
  return result;
}

FftNdOptions as_nd(const FftOptions& options) {
  FftNdOptions nd{.axes = {options.axis},
                  .sampling = {options.sampling},
                  .norm = options.norm,
                  .ifftshift_before = {options.ifftshift_before},
                  .fftshift_after = {options.fftshift_after},
                  .planning = options.planning};
  if (options.nfft) nd.nfft = {*options.nfft};
  return nd;
}

std::string text_of(const FftNdOptions& options) {
  const auto flags = [](const std::vector<bool>& values) {
    std::string text;
    for (const bool value : values) text += value ? '1' : '0';
    return text;
  };
  return fmt::format("axes [{}], nfft [{}], norm {}, shifts [{}] [{}]{}",
                     fmt::join(options.axes, ", "), fmt::join(options.nfft, ", "),
                     static_cast<int>(options.norm), flags(options.ifftshift_before),
                     flags(options.fftshift_after), options.transposed ? ", transposed" : "");
}

}  // namespace detail

template <Scalar D>
std::vector<std::vector<double>> fft_frequencies(const Layout& layout,
                                                 const FftNdOptions& options) {
  std::vector<std::vector<double>> all;
  for (const auto& axis : detail::fft_axes(layout, options, !is_complex<D>, "fft_frequencies")) {
    const double step = 1 / (static_cast<double>(axis.nfft) * axis.sampling);
    std::vector<double> f;
    for (index_t k = 0; k < axis.count(); ++k) {
      const bool negative = !axis.half && 2 * k >= axis.nfft;
      f.push_back(static_cast<double>(negative ? k - axis.nfft : k) * step);
    }
    if (axis.fftshift) std::rotate(f.begin(), f.end() - axis.count() / 2, f.end());
    all.push_back(std::move(f));
  }
  return all;
}

template <Scalar D>
std::vector<double> fft_frequencies(const Layout& layout, const FftOptions& options) {
  return fft_frequencies<D>(layout, detail::as_nd(options)).front();
}

#define INSTANTIATE(T)                                                               \
  template std::vector<double> fft_frequencies<T>(const Layout&, const FftOptions&); \
  template std::vector<std::vector<double>> fft_frequencies<T>(const Layout&,        \
                                                               const FftNdOptions& options);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
