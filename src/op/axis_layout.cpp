#include "op/axis_layout.hpp"

#include <weft/array/layout_transforms.hpp>

#include "array/balanced_splits.hpp"

#include <algorithm>
#include <numeric>

namespace weft::detail {
namespace {

using Splits = std::span<const index_t>;

/// Splits for a new extent, where one part keeps all elements.
std::vector<index_t> stretched(Splits splits, index_t extent) {
  std::vector<index_t> result;
  for (const index_t split : splits) result.push_back(split == 0 ? 0 : extent);
  return result;
}

bool in_one_part(Splits splits) {
  return std::all_of(splits.begin(), splits.end(),
                     [&](index_t split) { return split == 0 || split == splits.back(); });
}

/// The longest axis that satisfies a condition, or -1.
template <class F>
int longest_axis(const Layout& layout, F is_candidate) {
  int longest = -1;
  for (int axis = 0; axis < layout.ndim(); ++axis) {
    if (!is_candidate(axis)) continue;
    if (longest < 0 || layout.shape()[axis] > layout.shape()[longest]) longest = axis;
  }
  return longest;
}

}  // namespace

bool is_undistributed(const Layout& layout, int axis) {
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    if (layout.local_count(rank) == 0) continue;
    if (layout.box(rank).shape[axis] != layout.shape()[axis]) return false;
  }
  return true;
}

Layout gather_axis(const Layout& layout, int axis, std::span<const int> avoided) {
  const index_t extent = layout.shape()[axis];
  const auto is_free = [&](int candidate) { return is_undistributed(layout, candidate); };
  int other = longest_axis(layout, [&](int candidate) {
    return is_free(candidate) &&
           std::find(avoided.begin(), avoided.end(), candidate) == avoided.end();
  });
  if (other < 0) other = longest_axis(layout, is_free);
  if (other < 0 && layout.ndim() > 1 && !layout.is_within_groups()) {
    const int longest = longest_axis(layout, [&](int candidate) { return candidate != axis; });
    return Layout::scatter(layout.comm(), layout.shape(), longest).on(layout.device());
  }
  if (other < 0) {
    return recut(layout, axis, [&](Splits splits) {
      std::vector<index_t> on_first(splits.size(), extent);
      on_first[0] = 0;
      return on_first;
    });
  }
  const index_t other_extent = layout.shape()[other];
  std::vector<int> swapped(static_cast<std::size_t>(layout.ndim()));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<std::size_t>(axis)], swapped[static_cast<std::size_t>(other)]);
  const Layout gathered = recut(permute_axes(layout, swapped), axis,
                                [&](Splits splits) { return stretched(splits, extent); });
  return recut_evenly(gathered, other, other_extent);
}

Layout resize_axis(const Layout& layout, int axis, index_t extent) {
  if (extent == layout.shape()[axis]) return layout;
  return recut(layout, axis, [&](Splits splits) {
    return in_one_part(splits) ? stretched(splits, extent)
                               : balanced_splits(extent, std::ssize(splits) - 1);
  });
}

}  // namespace weft::detail
