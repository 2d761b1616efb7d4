#include <weft/op/convolution/convolve_nd.hpp>

#include <weft/core/error.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/axis_options.hpp"
#include "op/convolution/grid_filter.hpp"
#include "op/fourier/fourier_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using detail::GridFilter;

/// The time of transforms and their product relative to that of a tap, per element of the padded
/// grid and per doubling of its size. From the rows "convolve_nd by sums" and "convolve_nd by fft"
/// of threads_bench: on 1024 x 1024 elements, transforms take as long as 240 taps of doubles and
/// 320 of floats; on 512 x 512 complex doubles, as long as 110.
template <Scalar T>
constexpr double fft_taps_per_level = is_complex<T> ? 6 : 12;

/// The filter without taps that reach beyond the array from all its elements.
template <Scalar T>
GridFilter<T> trimmed(const GridFilter<T>& filter, const Shape& array) {
  Index begin = filter.offset;
  Index extents = filter.shape;
  Index offset = filter.offset;
  for (int k = 0; k < filter.shape.ndim(); ++k) {
    const index_t n = array[filter.axes[static_cast<std::size_t>(k)]];
    begin[k] = std::max<index_t>(0, filter.offset[k] - n + 1);
    extents[k] = std::min(filter.shape[k], filter.offset[k] + n) - begin[k];
    offset[k] -= begin[k];
  }
  GridFilter<T> result{filter.axes, Shape(extents), offset, {}};
  Index tap = Index::filled(extents.ndim(), 0);
  for (index_t j = 0; j < result.shape.count(); ++j, advance(result.shape, tap)) {
    Index from = tap;
    for (int k = 0; k < from.ndim(); ++k) from[k] += begin[k];
    result.taps.push_back(filter.taps[static_cast<std::size_t>(linear(filter.shape, from))]);
  }
  return result;
}

/// Whether transforms are expected to be faster than sums: if there are more taps than
/// fft_taps_per_level (grid / array) log2(grid), where `grid` and `array` are the numbers of
/// elements along the axes of the filter with and without padding.
template <Scalar T>
bool prefers_fft(const Layout& layout, const GridFilter<T>& filter) {
  if (!detail::has_fourier(layout.device())) return false;
  const std::vector<index_t> nfft = detail::fft_lengths(layout, filter);
  double grid = 1;
  double growth = 1;
  for (std::size_t i = 0; i < nfft.size(); ++i) {
    grid *= static_cast<double>(nfft[i]);
    growth *= static_cast<double>(nfft[i]) / static_cast<double>(layout.shape()[filter.axes[i]]);
  }
  return static_cast<double>(filter.taps.size()) > fft_taps_per_level<T> * growth * std::log2(grid);
}

template <Scalar T>
GridFilter<T> checked(const Layout& layout, const Shape& shape, std::span<const T> filter,
                      const ConvolveNdOptions& options) {
  require(shape.ndim() > 0 && shape.count() > 0, "convolve_nd: the filter of shape {} is empty",
          to_string(shape));
  require(static_cast<index_t>(filter.size()) == shape.count(),
          "convolve_nd: got {} elements for a filter of shape {}", filter.size(), to_string(shape));
  require(shape.ndim() <= layout.ndim(),
          "convolve_nd: the filter has {} axes, but the array of shape {} has {}", shape.ndim(),
          to_string(layout.shape()), layout.ndim());
  std::vector<int> axes = options.axes;
  for (int k = 0; options.axes.empty() && k < shape.ndim(); ++k) axes.push_back(k - shape.ndim());
  require(static_cast<int>(axes.size()) == shape.ndim(),
          "convolve_nd: got {} axes for a filter of shape {}; pass one per axis of the filter",
          axes.size(), to_string(shape));
  axes = detail::distinct_axes(std::move(axes), layout.ndim(), "convolve_nd");
  Index offset = Index::filled(shape.ndim(), 0);
  if (!options.offset.empty()) {
    require(static_cast<int>(options.offset.size()) == shape.ndim(),
            "convolve_nd: got {} offsets for a filter of shape {}; pass one per axis of the filter",
            options.offset.size(), to_string(shape));
    offset = Index(options.offset);
  }
  for (int k = 0; k < shape.ndim(); ++k) {
    require(offset[k] >= 0 && offset[k] < shape[k],
            "convolve_nd: offset {} is outside the filter of shape {}", to_string(offset),
            to_string(shape));
  }
  return {std::move(axes), shape, offset, {filter.begin(), filter.end()}};
}

}  // namespace

template <Scalar T>
LinearOperator<T> convolve_nd(const Layout& layout, const Shape& shape,
                              std::type_identity_t<std::span<const T>> filter,
                              const ConvolveNdOptions& options) {
  detail::agree_on_plan(
      "convolve_nd", {&layout}, dtype_of<T>,
      fmt::format("filter {} of {} elements, offset [{}], axes [{}], method {}", to_string(shape),
                  filter.size(), fmt::join(options.offset, " "), fmt::join(options.axes, " "),
                  static_cast<int>(options.method)));
  detail::require_enumerator(options.method, ConvolutionMethod::fft, "convolve_nd",
                             "ConvolutionMethod");
  const GridFilter<T> given = checked<T>(layout, shape, filter, options);
  if (layout.count() == 0) return identity<T>(layout);
  const GridFilter<T> h = trimmed(given, layout.shape());
  switch (options.method) {
    case ConvolutionMethod::direct: return detail::direct_grid_filter(layout, h);
    case ConvolutionMethod::fft: return detail::fft_grid_filter(layout, h);
    case ConvolutionMethod::automatic: break;
  }
  return prefers_fft(layout, h) ? detail::fft_grid_filter(layout, h)
                                : detail::direct_grid_filter(layout, h);
}

#define INSTANTIATE(T)                                                                \
  template LinearOperator<T> convolve_nd<T>(const Layout&, const Shape&,              \
                                            std::type_identity_t<std::span<const T>>, \
                                            const ConvolveNdOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
