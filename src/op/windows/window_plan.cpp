#include "op/windows/window_plan.hpp"

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>

#include "array/layout_node.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

Interval intersect(Interval a, Interval b) {
  const index_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace

WindowPlan::WindowPlan(Layout data, std::vector<WindowsAlong> windows, const Shape& model,
                       const char* who)
    : data_(std::move(data)),
      windows_(std::move(windows)),
      distributed_(find_distributed(who)),
      domain_(find_domain(model)) {
  if (distributed_ >= 0) find_slabs();
}

int WindowPlan::find_distributed(const char* who) const {
  int found = -1;
  for (int axis = 0; axis < data_.ndim(); ++axis) {
    if (!data_.is_cut_anywhere(axis)) continue;
    const auto entry = std::find_if(windows_.begin(), windows_.end(),
                                    [&](const WindowsAlong& along) { return along.axis == axis; });
    require(entry != windows_.end() && found < 0,
            "{}: the data must be distributed along one axis, which has windows, but is {}; "
            "redistribute it first",
            who, to_string(data_));
    found = static_cast<int>(entry - windows_.begin());
  }
  return found;
}

Layout WindowPlan::find_domain(const Shape& model) const {
  std::vector<index_t> extents;
  for (const WindowsAlong& along : windows_) extents.push_back(along.total);
  extents.insert(extents.end(), model.begin(), model.end());
  const Shape shape{Index(extents)};
  if (distributed_ < 0) return replicated_like(data_, shape);
  LayoutRecipe recipe{.kind = LayoutRecipe::Kind::scatter, .axis = distributed_};
  for (int rank = 0; rank < data_.comm().size(); ++rank)
    recipe.extents.push_back(windows_of(rank).length());
  const LayoutBuilder::Node& node = LayoutBuilder::node(data_);
  return LayoutBuilder::make(data_.comm(), shape, recipe, node.groups, node.reduction)
      .on(data_.device());
}

Interval WindowPlan::part(int rank) const {
  const Box& box = data_.box(rank);
  return {box.offset[along().axis], box.end(along().axis)};
}

Interval WindowPlan::windows_of(int rank) const {
  const auto with_middle_before = [&](index_t position) -> index_t {
    const index_t first_middle = along().window / 2;
    if (position <= first_middle) return 0;
    return std::min((position - first_middle - 1) / along().step() + 1, along().total);
  };
  const Interval positions = part(rank);
  return {with_middle_before(positions.begin), with_middle_before(positions.end)};
}

Interval WindowPlan::covered(int rank) const {
  const Interval numbers = windows_of(rank);
  if (numbers.length() == 0) return {};
  return {numbers.begin * along().step(), (numbers.end - 1) * along().step() + along().window};
}

Interval WindowPlan::mine(int entry) const {
  if (entry == distributed_) return windows_of(data_.comm().rank());
  return {0, windows_[static_cast<std::size_t>(entry)].total};
}

void WindowPlan::find_slabs() {
  const int rank = data_.comm().rank();
  for (int peer = 0; peer < data_.comm().size(); ++peer) {
    if (peer == rank || data_.group(peer) != data_.group(rank)) continue;
    const Interval theirs = intersect(covered(rank), part(peer));
    const Interval ours = intersect(part(rank), covered(peer));
    if (data_.shape().without(along().axis).count() == 0) continue;
    if (theirs.length() > 0) ghost_slabs_.push_back({peer, theirs});
    if (ours.length() > 0) shared_slabs_.push_back({peer, ours});
  }
}

}  // namespace weft::detail
