#include <weft/array/layout_transforms.hpp>

#include <weft/core/error.hpp>

#include "array/balanced_splits.hpp"
#include "array/layout_node.hpp"
#include "array/layout_queries.hpp"
#include "core/at.hpp"
#include "core/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace weft {

using detail::at;
using detail::LayoutBuilder;

namespace {

using Node = LayoutBuilder::Node;

/// Throws on all ranks if they pass different groups; otherwise some would wait for others forever.
void require_same_groups(const Layout& layout, const std::vector<int>& names,
                         const std::vector<index_t>& extents) {
  detail::Hash hash;
  hash.add(detail::hash_of(layout));
  for (const int name : names) hash.add(name);
  for (const index_t extent : extents) hash.add(extent);
  layout.comm().agree_on(hash.value(), [&] {
    return fmt::format("{} within groups [{}], extents [{}]", to_string(layout),
                       fmt::join(names, ", "), fmt::join(extents, ", "));
  });
}

/// Renames the groups, one for each rank, to 0, 1, 2, ... in the order of their first ranks.
template <class Groups>
std::vector<int> numbered(const Groups& groups) {
  std::map<typename Groups::value_type, int> number;
  std::vector<int> result;
  for (const auto& group : groups) {
    result.push_back(number.try_emplace(group, static_cast<int>(number.size())).first->second);
  }
  return result;
}

/// `layout`, or each part of it, within groups that reduce over one communicator.
Layout regrouped(const Layout& layout, std::span<const int> groups,
                 const std::vector<index_t>& extents, const Comm& reduction) {
  if (layout.is_stack()) {
    std::vector<Layout> parts;
    for (int index = 0; index < layout.part_count(); ++index) {
      parts.push_back(regrouped(layout.part(index), groups, extents, reduction));
    }
    return Layout::stack(std::move(parts));
  }
  LayoutRecipe recipe = LayoutBuilder::node(layout).recipe;
  require(extents.empty() || (extents.size() == at(layout.comm().size()) &&
                              recipe.kind == LayoutRecipe::Kind::scatter),
          "Layout::within: {} extents given for {}; extents are for layouts that are cut along one "
          "axis, one for each rank",
          extents.size(), to_string(layout));
  recipe.grids.clear();
  recipe.splits.clear();
  recipe.extents = extents;
  return LayoutBuilder::make(layout.comm(), layout.shape(), recipe, {groups.begin(), groups.end()},
                             reduction)
      .on(layout.device());
}

/// Bricks without an axis. Ranks at the same place along the axis form a group, which has the whole
/// result. Groups may differ in the number of places, so that nothing here may be collective over
/// all of them.
struct ReducedBricks {
  ReducedBricks(const Layout& layout, int axis) : recipe(LayoutBuilder::node(layout).recipe) {
    const Node& node = LayoutBuilder::node(layout);
    const int ranks = layout.comm().size();
    std::vector<std::pair<int, index_t>> groups_and_places;
    for (int rank = 0; rank < ranks; ++rank) {
      groups_and_places.emplace_back(node.groups[at(rank)], layout.coordinates(rank)[axis]);
    }
    groups = numbered(groups_and_places);
    const auto group_count = at(1 + *std::max_element(groups.begin(), groups.end()));
    recipe.grids.assign(group_count, {});
    recipe.splits.assign(group_count, {});
    for (int rank = 0; rank < ranks; ++rank) {
      const Node::GroupPlan& plan = node.plan(rank);
      const Shape cells = Shape(plan.grid).without(axis);
      recipe.grids[at(groups[at(rank)])] = cells;
      auto& splits = recipe.splits[at(groups[at(rank)])];
      splits = plan.splits;
      splits.erase(splits.begin() + axis);
      is_cut = is_cut || cells.count() > 1;
    }
    std::erase(recipe.order, axis);
    for (int& other : recipe.order) other -= other > axis ? 1 : 0;
  }

  LayoutRecipe recipe;
  std::vector<int> groups;
  bool is_cut = false;
};

}  // namespace

Layout Layout::on(Device device) const {
  require_available(device);
  auto node = std::make_shared<Node>(this->node());
  node->device = device;
  for (Layout& part : node->parts) part = part.on(device);
  node->reduced.assign(node->reduced.size(), nullptr);
  return Layout(node);
}

Layout Layout::within(std::span<const int> groups, const std::vector<index_t>& extents) const {
  require(groups.size() == at(comm().size()), "Layout::within: {} groups given for {} ranks",
          groups.size(), comm().size());
  const std::vector<int> names = numbered(groups);
  require_same_groups(*this, names, extents);
  // All parts of a stack get the same communicator, so that they can share messages. One group of
  // all ranks uses the communicator of the layout.
  const bool one = std::all_of(names.begin(), names.end(), [](int name) { return name == 0; });
  return regrouped(*this, names, extents, one ? comm() : comm().split(names[at(comm().rank())]));
}

Layout replicated_like(const Layout& layout, const Shape& shape) {
  const Node& node = LayoutBuilder::node(layout);
  return LayoutBuilder::make(layout.comm(), shape, {}, node.groups, node.reduction)
      .on(layout.device());
}

Layout without_axis(const Layout& layout, int axis) {
  const Node& node = LayoutBuilder::node(layout);
  axis = normalize_axis(axis, layout.ndim(), "without_axis");
  std::shared_ptr<const Node>& cached = node.reduced[at(axis)];
  if (cached != nullptr) return LayoutBuilder::wrap(cached);

  LayoutRecipe recipe = node.recipe;
  std::vector<int> groups = node.groups;
  Comm reduction = node.reduction;
  if (recipe.kind == LayoutRecipe::Kind::scatter) {
    if (recipe.axis > axis) --recipe.axis;
    if (node.recipe.axis == axis) recipe = {};
  } else if (recipe.kind == LayoutRecipe::Kind::bricks) {
    ReducedBricks reduced(layout, axis);
    if (!reduced.is_cut) {
      recipe = {};
    } else {
      recipe = std::move(reduced.recipe);
      groups = std::move(reduced.groups);
      if (layout.is_cut(axis)) {
        const Index cell = layout.coordinates(layout.comm().rank());
        reduction = node.reduction.split(static_cast<int>(cell[axis]));
      }
    }
  }
  Layout result = LayoutBuilder::make(layout.comm(), layout.shape().without(axis), recipe,
                                      std::move(groups), reduction)
                      .on(layout.device());
  cached = LayoutBuilder::shared_node(result);
  return result;
}

Layout recut(const Layout& layout, int axis,
             const std::function<std::vector<index_t>(std::span<const index_t>)>& new_splits) {
  const Node& node = LayoutBuilder::node(layout);
  axis = normalize_axis(axis, layout.ndim(), "recut");
  std::vector<std::vector<index_t>> moved;
  for (const Node::GroupPlan& plan : node.plans) {
    const std::vector<index_t>& old = plan.splits[at(axis)];
    moved.push_back(new_splits(old));
    require(moved.back().size() == old.size() && moved.back().front() == 0 &&
                std::is_sorted(moved.back().begin(), moved.back().end()),
            "recut: axis {} of {} needs {} splits that begin with 0 and do not decrease", axis,
            to_string(layout), old.size());
    require(moved.back().back() == moved.front().back(),
            "recut: axis {} of {} would have {} elements in one group of ranks and {} in another",
            axis, to_string(layout), moved.front().back(), moved.back().back());
  }
  LayoutRecipe recipe = node.recipe;
  if (recipe.kind == LayoutRecipe::Kind::scatter && recipe.axis == axis) {
    recipe.extents.clear();
    for (int rank = 0; rank < layout.comm().size(); ++rank) {
      const index_t* split = moved[at(layout.group(rank))].data() + node.positions[at(rank)];
      recipe.extents.push_back(split[1] - split[0]);
    }
  } else if (recipe.kind == LayoutRecipe::Kind::bricks) {
    recipe.grids.clear();
    recipe.splits.clear();
    for (std::size_t group = 0; group < node.plans.size(); ++group) {
      recipe.grids.push_back(node.plans[group].grid);
      recipe.splits.push_back(node.plans[group].splits);
      recipe.splits.back()[at(axis)] = moved[group];
    }
  }
  const Shape shape = layout.shape().with(axis, moved.front().back());
  return LayoutBuilder::make(layout.comm(), shape, recipe, node.groups, node.reduction)
      .on(layout.device());
}

Layout recut_evenly(const Layout& layout, int axis, index_t extent) {
  return recut(layout, axis, [extent](std::span<const index_t> splits) {
    return detail::balanced_splits(extent, std::ssize(splits) - 1);
  });
}

Layout permute_axes(const Layout& layout, std::span<const int> axes) {
  const Node& node = LayoutBuilder::node(layout);
  const int ndim = layout.ndim();
  std::vector<int> place(at(ndim), -1);  // of each axis of the layout in the result
  bool each_once = axes.size() == place.size();
  for (std::size_t i = 0; i < axes.size() && each_once; ++i) {
    each_once = axes[i] >= 0 && axes[i] < ndim && place[at(axes[i])] < 0;
    if (each_once) place[at(axes[i])] = static_cast<int>(i);
  }
  require(each_once, "permute_axes: [{}] does not name each of the {} axes of {} once",
          fmt::join(axes, ", "), ndim, to_string(layout.shape()));
  const auto reordered = [&](const Index& old) {
    Index result = old;
    for (int i = 0; i < ndim; ++i) result[i] = old[axes[at(i)]];
    return result;
  };
  LayoutRecipe recipe = node.recipe;
  if (recipe.kind == LayoutRecipe::Kind::scatter) recipe.axis = place[at(recipe.axis)];
  if (recipe.kind == LayoutRecipe::Kind::bricks) {
    recipe = {.kind = LayoutRecipe::Kind::bricks};
    for (int level = 0; level < ndim; ++level) {
      recipe.order.push_back(place[at(node.recipe.axis_at(level))]);
    }
    for (const Node::GroupPlan& plan : node.plans) {
      recipe.grids.push_back(reordered(plan.grid));
      recipe.splits.emplace_back();
      for (const int axis : axes) recipe.splits.back().push_back(plan.splits[at(axis)]);
    }
  }
  return LayoutBuilder::make(layout.comm(), Shape(reordered(layout.shape())), recipe, node.groups,
                             node.reduction)
      .on(layout.device());
}

}  // namespace weft
