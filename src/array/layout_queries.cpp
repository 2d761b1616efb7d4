#include "array/layout_queries.hpp"

#include <weft/core/error.hpp>

#include "array/layout_node.hpp"
#include "core/at.hpp"
#include "core/hash.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {

using detail::at;
using detail::require_rank;

namespace {

/// The first few of a list of numbers, one for each rank.
template <class T>
std::string some_of(const std::vector<T>& numbers) {
  const std::span shown(numbers.data(), std::min<std::size_t>(8, numbers.size()));
  return fmt::format("[{}{}]", fmt::join(shown, ", "),
                     shown.size() < numbers.size() ? ", ..." : "");
}

}  // namespace

const Layout::Node& Layout::node() const {
  require(node_ != nullptr, "the layout has been moved from");
  return *node_;
}

const Comm& Layout::comm() const { return node().comm; }
Device Layout::device() const { return node().device; }
bool Layout::is_stack() const { return !node().parts.empty(); }

int Layout::part_count() const { return static_cast<int>(node().parts.size()); }

const Layout& Layout::part(int index) const {
  require(index >= 0 && index < part_count(), "Layout::part: part {} is not one of the {} parts",
          index, part_count());
  return node_->parts[at(index)];
}

index_t detail::part_offset(const Layout& stack, int index) {
  stack.part(index);  // throws if there is none
  return LayoutBuilder::any_node(stack).part_offsets[at(index)];
}

index_t Layout::count() const {
  if (!is_stack()) return shape().count();
  index_t total = 0;
  for (const Layout& part : node_->parts) total += part.count();
  return total;
}

index_t Layout::local_count() const { return local_count(comm().rank()); }

index_t Layout::local_count(int rank) const {
  if (!is_stack()) return box(rank).shape.count();
  index_t total = 0;
  for (const Layout& part : node_->parts) total += part.local_count(rank);
  return total;
}

const Layout::Node& Layout::block() const {
  require(!is_stack(), "a stack has no shape of its own; use those of its parts");
  return *node_;
}

const Shape& Layout::shape() const { return block().shape; }
const Box& Layout::box() const { return box(comm().rank()); }

const Box& Layout::box(int rank) const {
  require_rank(rank, comm().size(), "Layout::box");
  return block().boxes[at(rank)];
}

int Layout::owner(const Index& position) const {
  require(position.ndim() == ndim() && Box{Index::filled(ndim(), 0), shape()}.contains(position),
          "Layout::owner: {} is outside of an array of {}", to_string(position),
          to_string(shape()));
  if (box().contains(position)) return comm().rank();
  Index cell = Index::filled(ndim(), 0);
  for (int axis = 0; axis < ndim(); ++axis) {
    const auto ends = splits(axis).subspan(1);
    cell[axis] = std::upper_bound(ends.begin(), ends.end(), position[axis]) - ends.begin();
  }
  return rank_at(cell);
}

bool Layout::is_within_groups() const {
  if (!is_stack()) return group_count() > 1;
  return std::any_of(node_->parts.begin(), node_->parts.end(),
                     [](const Layout& part) { return part.is_within_groups(); });
}

const Index& Layout::grid() const { return block().plan(comm().rank()).grid; }

std::span<const index_t> Layout::splits(int axis) const {
  axis = normalize_axis(axis, ndim(), "Layout::splits");
  return block().plan(comm().rank()).splits[at(axis)];
}

bool Layout::is_cut(int axis) const {
  return grid()[normalize_axis(axis, ndim(), "Layout::is_cut")] > 1;
}

bool Layout::is_cut_anywhere(int axis) const {
  axis = normalize_axis(axis, ndim(), "Layout::is_cut_anywhere");
  const std::vector<Node::GroupPlan>& plans = block().plans;
  return std::any_of(plans.begin(), plans.end(),
                     [&](const Node::GroupPlan& plan) { return plan.grid[axis] > 1; });
}

Index Layout::coordinates(int rank) const {
  require_rank(rank, comm().size(), "Layout::coordinates");
  const Index& cells = block().plan(rank).grid;
  Index cell = Index::filled(ndim(), 0);
  if (is_replicated()) return cell;
  index_t position = node_->positions[at(rank)];
  for (int level = ndim() - 1; level >= 0; --level) {
    const int axis = node_->recipe.axis_at(level);
    cell[axis] = position % cells[axis];
    position /= cells[axis];
  }
  return cell;
}

int Layout::rank_at(const Index& cell) const {
  const Node::GroupPlan& plan = block().plan(comm().rank());
  const bool inside =
      cell.ndim() == ndim() && Box{Index::filled(ndim(), 0), Shape(plan.grid)}.contains(cell);
  if (!inside) [[unlikely]] {
    refuse("Layout::rank_at: {} is outside of a grid of {}", to_string(cell), to_string(plan.grid));
  }
  if (is_replicated()) return comm().rank();
  index_t position = 0;
  for (int level = 0; level < ndim(); ++level) {
    const int axis = node_->recipe.axis_at(level);
    position = position * plan.grid[axis] + cell[axis];
  }
  return plan.members[at(static_cast<int>(position))];
}

int Layout::group(int rank) const {
  require_rank(rank, comm().size(), "Layout::group");
  return block().groups[at(rank)];
}

int Layout::group_count() const { return static_cast<int>(block().plans.size()); }

bool Layout::is_replicated() const { return block().recipe.kind == LayoutRecipe::Kind::replicated; }

const Comm& Layout::group_comm() const { return block().reduction; }

const Comm& detail::reduction_comm(const Layout& layout) {
  static const Comm none = Comm::self().split(-1);
  const Comm& group = layout.group_comm();
  return layout.is_replicated() || group.size() == 1 ? none : group;
}

Comm Layout::line_comm(int axis) const {
  const Node& node = block();
  axis = normalize_axis(axis, ndim(), "Layout::line_comm");
  std::shared_ptr<const Comm>& cached = node.lines[at(axis)];
  if (cached != nullptr) return *cached;
  if (!is_cut(axis)) return Comm::self().split(-1);
  if (grid()[axis] == Shape(grid()).count()) return node.reduction;
  Index first = coordinates(comm().rank());
  first[axis] = 0;
  cached = std::make_shared<const Comm>(node.reduction.split(rank_at(first)));
  return *cached;
}

bool operator==(const Layout& a, const Layout& b) {
  if (a.node_ == b.node_) return true;
  if (a.node_ == nullptr || b.node_ == nullptr) return false;  // moved from
  const Layout::Node& left = *a.node_;
  const Layout::Node& right = *b.node_;
  if (left.comm != right.comm || left.device != right.device) return false;
  if (a.is_stack() || b.is_stack()) return left.parts == right.parts;
  return left.shape == right.shape && left.boxes == right.boxes && left.groups == right.groups;
}

std::uint64_t detail::hash_of(const Layout& layout) {
  const LayoutBuilder::Node& known = LayoutBuilder::any_node(layout);
  Hash hash;
  // Without the number of the device: each rank may have a GPU of its own.
  hash.add(static_cast<int>(known.device.kind)).add(known.comm.size());
  hash.add(layout.part_count());
  for (const Layout& part : known.parts) hash.add(hash_of(part));
  hash.add(known.shape.ndim());
  for (const index_t extent : known.shape) hash.add(extent);
  for (const Box& box : known.boxes) {
    for (const index_t begin : box.offset) hash.add(begin);
    for (const index_t extent : box.shape) hash.add(extent);
  }
  for (const int group : known.groups) hash.add(group);
  return hash.value();
}

std::string to_string(const Layout& layout) {
  if (layout.is_stack()) {
    std::string text;
    for (int index = 0; index < layout.part_count(); ++index) {
      if (index > 0) text += ", ";
      text += to_string(layout.part(index));
    }
    return "stack of [" + text + "]";
  }
  const auto& node = detail::LayoutBuilder::node(layout);
  const int ranks = node.comm.size();
  std::string how;
  switch (node.recipe.kind) {
    case LayoutRecipe::Kind::scatter:
      how = fmt::format("cut along axis {}", node.recipe.axis);
      if (!node.recipe.extents.empty()) how += " into " + some_of(node.recipe.extents);
      break;
    case LayoutRecipe::Kind::bricks:
      how = fmt::format("in bricks of {}", to_string(layout.grid()));
      break;
    case LayoutRecipe::Kind::replicated: how = ranks == 1 ? "whole" : "replicated"; break;
  }
  if (node.plans.size() > 1) {
    how += fmt::format(" within {} groups {}", node.plans.size(), some_of(node.groups));
  }
  return fmt::format("{} {} over {} rank{} on {}", to_string(layout.shape()), how, ranks,
                     ranks == 1 ? "" : "s", to_string(layout.device()));
}

}  // namespace weft
