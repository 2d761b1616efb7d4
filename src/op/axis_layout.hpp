#pragma once

#include <weft/array/layout.hpp>

#include <span>

namespace weft::detail {

/// Whether the axis is not distributed: every rank with elements has all positions along it.
bool is_undistributed(const Layout& layout, int axis);

/// A layout of the same shape in which the axis is not distributed. Its distribution moves to the
/// longest axis that is not distributed, if possible to one that is not in `avoided`. If there is
/// none, the longest of the other axes is
/// distributed over all ranks. If the array has one axis, or each group of ranks has its own array,
/// the first ranks along the axis get all elements.
Layout gather_axis(const Layout& layout, int axis, std::span<const int> avoided = {});

/// The layout with another extent along an axis. Distributed axes are distributed evenly; others
/// remain undistributed.
Layout resize_axis(const Layout& layout, int axis, index_t extent);

}  // namespace weft::detail
