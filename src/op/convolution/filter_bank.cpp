#include "op/convolution/filter_bank.hpp"

#include <weft/core/error.hpp>

#include "array/strides.hpp"
#include "core/at.hpp"
#include "op/axis_options.hpp"
#include "op/to_device.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::detail {
namespace {

void check_positions(const std::vector<index_t>& positions, int axis, index_t n, const char* who) {
  require(!positions.empty(), "{}: no positions of filters are given along axis {}", who, axis);
  for (std::size_t k = 0; k < positions.size(); ++k) {
    require(positions[k] >= 0 && positions[k] < n,
            "{}: position {} is outside axis {}, which has {} elements", who, positions[k], axis,
            n);
    if (k == 0) continue;
    require(positions[k] > positions[k - 1] &&
                positions[k] - positions[k - 1] == positions[1] - positions[0],
            "{}: positions along axis {} must increase in equal steps, but {} follows {}", who,
            axis, positions[k], positions[k - 1]);
  }
}

/// The tables of NodeAxis on the host.
template <class R>
struct HostTables {
  std::vector<index_t> lower;
  std::vector<index_t> end;
  std::vector<R> weight;
  std::vector<index_t> begins;
  std::vector<index_t> ends;
};

/// Tables for positions [begin, begin + extent) of the array, each `repeat` times.
template <class R>
HostTables<R> tables_of(const std::vector<index_t>& positions, index_t begin, index_t extent,
                        index_t repeat) {
  const auto count = std::ssize(positions);
  const index_t step = count > 1 ? positions[1] - positions[0] : 1;
  HostTables<R> tables;
  tables.begins.assign(positions.size(), extent * repeat);
  tables.ends.assign(positions.size(), 0);
  for (index_t i = 0; i < extent; ++i) {
    const index_t from_first = begin + i - positions.front();
    index_t lower = 0;
    R weight{};
    if (count > 1 && from_first > 0) {
      lower = std::min<index_t>(from_first / step, count - 2);
      const index_t beyond = std::min(from_first - lower * step, step);
      weight = static_cast<R>(beyond) / static_cast<R>(step);
    }
    tables.lower.insert(tables.lower.end(), static_cast<std::size_t>(repeat), lower);
    tables.weight.insert(tables.weight.end(), static_cast<std::size_t>(repeat), weight);
    const auto add_to_support = [&](index_t node) {
      index_t& first = tables.begins[static_cast<std::size_t>(node)];
      first = std::min(first, i * repeat);
      tables.ends[static_cast<std::size_t>(node)] = (i + 1) * repeat;
    };
    if (weight != 1) add_to_support(lower);
    if (weight != 0) add_to_support(lower + 1);
  }
  tables.end.resize(tables.lower.size());
  for (auto i = std::ssize(tables.lower) - 1; i >= 0; --i) {
    const auto k = static_cast<std::size_t>(i);
    const bool continues = k + 1 < tables.lower.size() && tables.lower[k + 1] == tables.lower[k];
    tables.end[k] = continues ? tables.end[k + 1] : i + 1;
  }
  return tables;
}

}  // namespace

Shape FilterBankGrid::shape() const {
  std::vector<index_t> extents;
  for (const auto& nodes : positions) extents.push_back(std::ssize(nodes));
  extents.insert(extents.end(), filter.begin(), filter.end());
  return Shape(Index(extents));
}

std::vector<AxisPadding> FilterBankGrid::widths(const Shape& array) const {
  std::vector<AxisPadding> all(at(array.ndim()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const index_t reach =
        std::min(filter[static_cast<int>(i)] / 2, std::max<index_t>(array[axes[i]] - 1, 0));
    all[at(axes[i])] = {reach, reach};
  }
  return all;
}

std::string text_of(const std::vector<int>& axes,
                    const std::vector<std::vector<index_t>>& positions, const Shape& filter) {
  std::string text = fmt::format("axes [{}], filters {}", fmt::join(axes, " "), to_string(filter));
  for (const auto& nodes : positions) text += fmt::format(", positions {}", fmt::join(nodes, " "));
  return text;
}

FilterBankGrid filter_bank_grid(const Shape& array, std::vector<int> axes,
                                std::vector<std::vector<index_t>> positions, const Shape& filter,
                                const char* who) {
  const int count = static_cast<int>(positions.size());
  require(array.ndim() >= count, "{}: expected an array with at least {} axes, got shape {}", who,
          count, to_string(array));
  if (axes.empty()) {
    for (int i = 0; i < count; ++i) axes.push_back(array.ndim() - count + i);
  }
  require(static_cast<int>(axes.size()) == count, "{}: got {} axes, expected {}", who, axes.size(),
          count);
  axes = distinct_axes(std::move(axes), array.ndim(), who);
  require(filter.ndim() == count, "{}: expected filters with {} axes, got shape {}", who, count,
          to_string(filter));
  for (int i = 0; i < count; ++i) {
    require(filter[i] % 2 == 1, "{}: filters must have odd extents, got shape {}", who,
            to_string(filter));
    check_positions(positions[at(i)], axes[at(i)], array[axes[at(i)]], who);
  }
  return {std::move(axes), std::move(positions), filter};
}

template <std::floating_point R>
FilterBankTables<R>::FilterBankTables(const FilterBankGrid& grid, const Layout& layout,
                                      const Shape& padded, FilterPlace place)
    : nodes_() {
  const int row_axis = *std::max_element(grid.axes.begin(), grid.axes.end());
  rows_ = padded_rows(layout.box().shape, padded, row_axis);
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    if (grid.axes[i] == row_axis) {
      nodes_.row = node_axis(grid, i, layout, padded.count(row_axis + 1, padded.ndim()));
    } else {
      nodes_.axes[nodes_.leading++] = node_axis(grid, i, layout, 1);
    }
  }
  add_taps(grid, layout, padded, place);
}

template <std::floating_point R>
kernels::NodeAxis<R> FilterBankTables<R>::node_axis(const FilterBankGrid& grid, std::size_t i,
                                                    const Layout& layout, index_t repeat) {
  const int axis = grid.axes[i];
  const AxisPadding width = grid.widths(layout.shape())[at(axis)];
  const Box& box = layout.box();
  const bool is_empty = box.shape.count() == 0;
  const auto tables =
      tables_of<R>(grid.positions[i], box.offset[axis] - width.before,
                   is_empty ? 0 : box.shape[axis] + width.before + width.after, repeat);
  const auto keep = [&](const std::vector<index_t>& values) {
    integers_.push_back(to_device<index_t>(values, layout.device()));
    return std::as_const(integers_.back()).data();
  };
  kernels::NodeAxis<R> nodes{};
  nodes.count = std::ssize(grid.positions[i]);
  nodes.stride = strides_of(grid.shape())[static_cast<int>(i)];
  nodes.axis = axis;
  nodes.lower = keep(tables.lower);
  nodes.end = keep(tables.end);
  nodes.begins = keep(tables.begins);
  nodes.ends = keep(tables.ends);
  weights_.push_back(to_device<R>(tables.weight, layout.device()));
  nodes.weight = std::as_const(weights_.back()).data();
  for (std::size_t k = 0; k < tables.begins.size(); ++k) {
    nodes.widest = std::max(nodes.widest, tables.ends[k] - tables.begins[k]);
  }
  return nodes;
}

template <std::floating_point R>
void FilterBankTables<R>::add_taps(const FilterBankGrid& grid, const Layout& layout,
                                   const Shape& padded, FilterPlace place) {
  const std::vector<AxisPadding> widths = grid.widths(layout.shape());
  const Index strides = strides_of(padded);
  std::vector<index_t> shifts;
  std::vector<index_t> places;
  Index tap = Index::filled(grid.filter.ndim(), 0);
  for (index_t t = 0; t < grid.filter.count(); ++t, advance(grid.filter, tap)) {
    index_t shift = 0;
    index_t of_tap[3] = {};
    bool reaches = true;
    int leading = 0;
    for (std::size_t i = 0; i < grid.axes.size(); ++i) {
      const int k = static_cast<int>(i);
      const index_t reach = widths[at(grid.axes[i])].before;
      const index_t lag = tap[k] - grid.filter[k] / 2;
      const index_t input = place == FilterPlace::at_input ? reach - lag : reach + lag;
      const bool is_row = grid.axes[i] == rows_.ndim;
      of_tap[is_row ? 2 : leading++] =
          (place == FilterPlace::at_input ? input : reach) * (is_row ? strides[rows_.ndim] : 1);
      shift += input * strides[grid.axes[i]];
      reaches = reaches && std::abs(lag) <= reach;
    }
    shifts.push_back(reaches ? shift : -1);
    places.insert(places.end(), of_tap, of_tap + 3);
  }
  integers_.push_back(to_device<index_t>(shifts, layout.device()));
  nodes_.shifts = std::as_const(integers_.back()).data();
  integers_.push_back(to_device<index_t>(places, layout.device()));
  nodes_.places = std::as_const(integers_.back()).data();
  nodes_.taps = std::ssize(shifts);
}

template class FilterBankTables<float>;
template class FilterBankTables<double>;

}  // namespace weft::detail
