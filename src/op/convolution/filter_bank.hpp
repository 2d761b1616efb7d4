#pragma once

// Filters at the nodes of a regular grid, interpolated in between, for
// non_stationary_convolve_nd.cpp and non_stationary_filters.cpp.

#include <weft/array/axis_padding.hpp>
#include <weft/array/layout.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/scalars.hpp>

#include "op/convolution/filter_bank_kernels.hpp"

#include <span>
#include <string>
#include <vector>

namespace weft::detail {

/// The grid of a filter bank along up to three axes of an array.
struct FilterBankGrid {
  std::vector<int> axes;
  /// The nodes along each axis, which ascend in equal steps.
  std::vector<std::vector<index_t>> positions;
  /// The shape of a filter, with odd extents; lag 0 is in its middle.
  Shape filter;

  /// The shape of the array of filters: nodes, then taps.
  Shape shape() const;
  /// How far filters reach within the array, for all its axes.
  std::vector<AxisPadding> widths(const Shape& array) const;
};

/// Checks the arguments of an operator. `axes` are by default the last ones.
FilterBankGrid filter_bank_grid(const Shape& array, std::vector<int> axes,
                                std::vector<std::vector<index_t>> positions, const Shape& filter,
                                const char* who);
/// The arguments, for agree_on_plan.
std::string text_of(const std::vector<int>& axes,
                    const std::vector<std::vector<index_t>>& positions, const Shape& filter);

/// What determines the filter of a product f[t] x[j] in the sum for y[i].
enum class FilterPlace : std::uint8_t {
  at_input,   // j, as in the forward direction
  at_output,  // i, as in the adjoint
};

/// Tables on the device for kernels, for this rank's part of a layout.
template <std::floating_point R>
class FilterBankTables {
 public:
  /// `padded` is the shape of the part extended by the widths of the grid.
  FilterBankTables(const FilterBankGrid& grid, const Layout& layout, const Shape& padded,
                   FilterPlace place);

  const kernels::PaddedRows& rows() const { return rows_; }
  const kernels::FilterNodes<R>& nodes() const { return nodes_; }

 private:
  kernels::NodeAxis<R> node_axis(const FilterBankGrid& grid, std::size_t i, const Layout& layout,
                                 index_t repeat);
  void add_taps(const FilterBankGrid& grid, const Layout& layout, const Shape& padded,
                FilterPlace place);

  kernels::PaddedRows rows_;
  kernels::FilterNodes<R> nodes_;
  std::vector<Buffer<index_t>> integers_;
  std::vector<Buffer<R>> weights_;
};

}  // namespace weft::detail
