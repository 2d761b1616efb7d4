#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/redistribute.hpp>
#include <weft/op/basic/restriction.hpp>
#include <weft/op/fourier/fft.hpp>

#include "op/axis_layout.hpp"
#include "op/convolution/grid_filter.hpp"
#include "op/fourier/fast_length.hpp"

#include <algorithm>
#include <numeric>

namespace weft::detail {
namespace {

/// The filter on a grid of the lengths of the transforms, with lag 0 at position 0; repeated along
/// the other axes.
template <Scalar T>
DistributedArray<Spectrum<T>> wrapped(const Layout& layout, const GridFilter<T>& filter) {
  DistributedArray<Spectrum<T>> grid(layout, uninitialized);
  grid.fill([&](const Index& at) -> Spectrum<T> {
    index_t tap = 0;
    for (std::size_t i = 0; i < filter.axes.size(); ++i) {
      const int k = static_cast<int>(i);
      const index_t j = (at[filter.axes[i]] + filter.offset[k]) % layout.shape()[filter.axes[i]];
      if (j >= filter.shape[k]) return {};
      tap = tap * filter.shape[k] + j;
    }
    return filter.taps[static_cast<std::size_t>(tap)];
  });
  return grid;
}

/// The spectrum of the filter, in the layout of the transform of the array.
template <Scalar T>
DistributedArray<Spectrum<T>> spectrum_of(const Layout& layout, const GridFilter<T>& filter,
                                          const std::vector<index_t>& nfft, const Layout& range) {
  using C = Spectrum<T>;
  Layout grid = layout;
  for (std::size_t i = 0; i < filter.axes.size(); ++i) {
    grid = resize_axis(grid, filter.axes[i], nfft[i]);
  }
  auto transform = fftnd<C>(grid, {.axes = filter.axes, .norm = FftNorm::none, .transposed = true});
  if constexpr (!is_complex<T>) {
    // Transforms of real arrays keep the first frequencies of the last axis.
    std::vector<index_t> kept(static_cast<std::size_t>(nfft.back() / 2 + 1));
    std::iota(kept.begin(), kept.end(), index_t{0});
    transform = restriction<C>(transform.range(), kept, {.axis = filter.axes.back()}) * transform;
  }
  return redistribute<C>(transform.range(), range) * (transform * wrapped(grid, filter));
}

}  // namespace

template <Scalar T>
std::vector<index_t> fft_lengths(const Layout& layout, const GridFilter<T>& filter) {
  std::vector<index_t> lengths;
  for (std::size_t i = 0; i < filter.axes.size(); ++i) {
    // Long enough that wrapped elements are truncated.
    const int k = static_cast<int>(i);
    const index_t reach = std::max(filter.offset[k], filter.shape[k] - 1 - filter.offset[k]);
    lengths.push_back(fast_length(layout.shape()[filter.axes[i]] + reach));
  }
  return lengths;
}

template <Scalar T>
LinearOperator<T> fft_grid_filter(const Layout& layout, const GridFilter<T>& filter) {
  const std::vector<index_t> nfft = fft_lengths(layout, filter);
  const auto transform = fftnd<T>(layout, {.axes = filter.axes, .nfft = nfft, .transposed = true});
  const auto spectrum = spectrum_of(layout, filter, nfft, transform.range());
  return adjoint(transform) * (diagonal<Spectrum<T>>(spectrum) * transform);
}

#define INSTANTIATE(T)                                                               \
  template std::vector<index_t> fft_lengths<T>(const Layout&, const GridFilter<T>&); \
  template LinearOperator<T> fft_grid_filter<T>(const Layout&, const GridFilter<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
