#pragma once

// Layouts derived from other layouts that are not stacks.

#include <weft/array/layout.hpp>

#include <functional>
#include <span>
#include <vector>

namespace weft {

/// The layout of the result of a reduction along an axis. Collective the first time if the axis is
/// cut.
Layout without_axis(const Layout& layout, int axis);

/// The same ranks in the same cells of the grid, with one axis cut at other places: `new_splits`
/// gets the splits of a group (see Layout::splits) and returns as many new ones, which begin with
/// 0, do not decrease, and end with the new extent.
Layout recut(const Layout& layout, int axis,
             const std::function<std::vector<index_t>(std::span<const index_t>)>& new_splits);

/// The same axis in as many parts of nearly equal extent, which have `extent` elements together.
Layout recut_evenly(const Layout& layout, int axis, index_t extent);

/// Axis i of the result is axes[i] of the layout; every rank keeps its elements.
Layout permute_axes(const Layout& layout, std::span<const int> axes);

/// Every rank has all elements of an array of another shape; copies are shared within the groups of
/// `layout`. No messages.
Layout replicated_like(const Layout& layout, const Shape& shape);

}  // namespace weft
