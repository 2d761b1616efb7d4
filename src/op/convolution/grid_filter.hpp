#pragma once

// Convolutions along several axes: what convolve_nd.cpp chooses from.

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft::detail {

/// A filter along some axes of an array. The element at lag 0 is that at `offset`.
template <Scalar T>
struct GridFilter {
  std::vector<int> axes;
  Shape shape;
  Index offset;
  std::vector<T> taps;  // in row-major order
};

/// Sums of products with the taps. No tap reaches beyond the array from all its elements.
/// Communication: one halo exchange if one of the axes is distributed.
template <Scalar T>
LinearOperator<T> direct_grid_filter(const Layout& layout, const GridFilter<T>& filter);

/// Products of spectra.
template <Scalar T>
LinearOperator<T> fft_grid_filter(const Layout& layout, const GridFilter<T>& filter);

/// The lengths of the transforms of fft_grid_filter along the axes of the filter.
template <Scalar T>
std::vector<index_t> fft_lengths(const Layout& layout, const GridFilter<T>& filter);

}  // namespace weft::detail
