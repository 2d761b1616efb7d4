#pragma once

#include <weft/array/layout.hpp>

namespace weft::detail {

/// Whether every rank that has elements has the whole axis.
bool is_whole(const Layout& layout, int axis);

/// The same array with the axis whole. Its cuts go to the longest axis that is whole; if there is
/// none, all cuts go to the longest of the other axes. Of an array with one axis, or one that each
/// group of ranks has for itself, the first ranks along the axis get everything then.
Layout gather_axis(const Layout& layout, int axis);

/// The same layout with another extent along an axis: whole axes remain whole, others are cut into
/// nearly equal parts.
Layout resized(const Layout& layout, int axis, index_t extent);

}  // namespace weft::detail
