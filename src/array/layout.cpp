#include "array/layout_node.hpp"

#include <weft/core/error.hpp>

#include "core/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace weft {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

void require_rank(int rank, int ranks, const char* where) {
  require(rank >= 0 && rank < ranks, "{}: there is no rank {} among {} ranks", where, rank, ranks);
}

/// n elements in `parts` parts, the first n % parts of them one longer.
std::vector<index_t> balanced_splits(index_t n, index_t parts) {
  std::vector<index_t> splits;
  for (index_t part = 0; part <= parts; ++part) {
    splits.push_back(part * (n / parts) + std::min(part, n % parts));
  }
  return splits;
}

/// Gives each prime factor of `ranks`, largest first, to the axis whose parts are longest so far.
Index compact_grid(const Shape& shape, int ranks) {
  std::vector<int> factors;
  for (int factor = 2; ranks > 1; ++factor) {
    for (; ranks % factor == 0; ranks /= factor) factors.push_back(factor);
  }
  std::reverse(factors.begin(), factors.end());
  Index grid = Index::filled(shape.ndim(), 1);
  for (const int factor : factors) {
    int longest = 0;
    for (int axis = 1; axis < shape.ndim(); ++axis) {
      if (shape[axis] * grid[longest] > shape[longest] * grid[axis]) longest = axis;
    }
    grid[longest] *= factor;
  }
  return grid;
}

/// Groups that ranks see differently would leave some of them waiting for others.
void require_same_groups(const Layout& layout, const std::vector<int>& names,
                         const std::vector<index_t>& extents) {
  detail::Hash hash;
  hash.add(layout.hash());
  for (const int name : names) hash.add(name);
  for (const index_t extent : extents) hash.add(extent);
  layout.comm().agree_on(hash.value(), [&] {
    return fmt::format("{} within groups [{}], extents [{}]", layout.describe(),
                       fmt::join(names, ", "), fmt::join(extents, ", "));
  });
}

/// Renames groups to 0, 1, 2, ... in the order in which ranks name them.
std::vector<int> numbered(std::span<const int> groups) {
  std::map<int, int> number;
  std::vector<int> result;
  for (const int group : groups) {
    result.push_back(number.try_emplace(group, static_cast<int>(number.size())).first->second);
  }
  return result;
}

}  // namespace

Index Layout::Recipe::grid_for(const Shape& shape, std::size_t group, int ranks) const {
  Index cells = Index::filled(shape.ndim(), 1);
  if (kind == Kind::scatter) cells[axis] = ranks;
  if (kind == Kind::bricks) cells = grids.empty() ? compact_grid(shape, ranks) : grids[group];
  return cells;
}

Layout Layout::make(const Comm& comm, const Shape& shape, const Recipe& recipe,
                    std::vector<int> groups, const Comm& reduction) {
  auto node = std::make_shared<Node>(comm, comm.device());
  node->shape = shape;
  node->recipe = recipe;
  node->groups = std::move(groups);
  node->reduction = reduction;
  node->reduced.resize(at(shape.ndim()));
  node->lines.resize(at(shape.ndim()));
  node->plans.resize(at(1 + *std::max_element(node->groups.begin(), node->groups.end())));
  for (int rank = 0; rank < comm.size(); ++rank) {
    std::vector<int>& members = node->plans[at(node->groups[at(rank)])].members;
    node->positions.push_back(static_cast<int>(members.size()));
    members.push_back(rank);
  }
  for (std::size_t group = 0; group < node->plans.size(); ++group) {
    Node::GroupPlan& plan = node->plans[group];
    const int ranks = static_cast<int>(plan.members.size());
    plan.grid = recipe.grid_for(shape, group, ranks);
    require(recipe.kind != Recipe::Kind::bricks || Shape(plan.grid).count() == ranks,
            "Layout::bricks: a grid of {} has {} cells, but there are {} ranks to fill it",
            to_string(plan.grid), Shape(plan.grid).count(), ranks);
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      plan.splits.push_back(recipe.splits.empty() ? balanced_splits(shape[axis], plan.grid[axis])
                                                  : recipe.splits[group][at(axis)]);
    }
    if (recipe.extents.empty()) continue;
    std::vector<index_t>& splits = plan.splits[at(recipe.axis)];
    for (int position = 0; position < ranks; ++position) {
      const index_t extent = recipe.extents[at(plan.members[at(position)])];
      require(extent >= 0 && extent <= shape[recipe.axis],
              "Layout::scatter: one of the extents is {}, but axis {} of {} has {}", extent,
              recipe.axis, to_string(shape), shape[recipe.axis]);
      require(!__builtin_add_overflow(splits[at(position)], extent, &splits[at(position + 1)]),
              "Layout::scatter: the extents sum up to more than 64 bits can count");
    }
    require(splits.back() == shape[recipe.axis],
            "Layout::scatter: the extents sum up to {}, but axis {} of {} has {}", splits.back(),
            recipe.axis, to_string(shape), shape[recipe.axis]);
  }
  Layout layout(node);
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Index cell = layout.coordinates(rank);
    const Node::GroupPlan& plan = node->plan(rank);
    Box box{cell, shape};
    Index extent = shape;
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      const auto* splits = plan.splits[at(axis)].data() + cell[axis];
      box.offset[axis] = splits[0];
      extent[axis] = splits[1] - splits[0];
    }
    box.shape = Shape(extent);
    node->boxes.push_back(box);
  }
  return layout;
}

Layout Layout::local(const Shape& shape) { return replicated(Comm::self(), shape); }

Layout Layout::scatter(const Comm& comm, const Shape& shape, int axis) {
  return scatter(comm, shape, axis, {});
}

Layout Layout::scatter(const Comm& comm, const Shape& shape, int axis,
                       std::vector<index_t> extents) {
  axis = normalize_axis(axis, shape.ndim(), "Layout::scatter");
  require(extents.empty() || extents.size() == at(comm.size()),
          "Layout::scatter: {} extents given for {} ranks", extents.size(), comm.size());
  const Recipe recipe{.kind = Recipe::Kind::scatter, .axis = axis, .extents = std::move(extents)};
  return make(comm, shape, recipe, std::vector<int>(at(comm.size())), comm);
}

Layout Layout::bricks(const Comm& comm, const Shape& shape, const Index& grid) {
  require(grid.ndim() == shape.ndim() && grid.ndim() > 0,
          "Layout::bricks: a grid of {} dimensions cannot cut a shape of {}", grid.ndim(),
          shape.ndim());
  require(std::all_of(grid.begin(), grid.end(), [](index_t parts) { return parts >= 1; }),
          "Layout::bricks: a grid of {} has no cells", to_string(grid));
  const Recipe recipe{.kind = Recipe::Kind::bricks, .grids = {grid}};
  return make(comm, shape, recipe, std::vector<int>(at(comm.size())), comm);
}

Layout Layout::bricks(const Comm& comm, const Shape& shape) {
  require(shape.ndim() > 0, "Layout::bricks: a single number cannot be cut");
  return make(comm, shape, {.kind = Recipe::Kind::bricks}, std::vector<int>(at(comm.size())), comm);
}

Layout Layout::replicated(const Comm& comm, const Shape& shape) {
  return make(comm, shape, {}, std::vector<int>(at(comm.size())), comm);
}

Layout Layout::on_rank(const Comm& comm, const Shape& shape, int rank) {
  require_rank(rank, comm.size(), "Layout::on_rank");
  require(shape.ndim() > 0, "Layout::on_rank: a single number has no axis to put on one rank");
  std::vector<index_t> extents(at(comm.size()));
  extents[at(rank)] = shape[0];
  return scatter(comm, shape, 0, std::move(extents));
}

Layout Layout::stack(std::vector<Layout> parts) {
  require(!parts.empty(), "Layout::stack: there must be at least one part");
  for (const Layout& part : parts) {
    require(part.comm() == parts.front().comm(),
            "Layout::stack: all parts must be on the same communicator");
    require(part.device() == parts.front().device(),
            "Layout::stack: parts on {} and on {}; all must be on the same device",
            to_string(parts.front().device()), to_string(part.device()));
  }
  auto node = std::make_shared<Node>(parts.front().comm(), parts.front().device());
  node->parts = std::move(parts);
  return Layout(node);
}

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
  // One communicator for all parts of a stack, so that they can share messages. One group of all
  // ranks has the one that there is.
  const bool one = std::all_of(names.begin(), names.end(), [](int name) { return name == 0; });
  return within(names, extents, one ? comm() : comm().split(names[at(comm().rank())]));
}

Layout Layout::within(std::span<const int> groups, const std::vector<index_t>& extents,
                      const Comm& reduction) const {
  if (is_stack()) {
    std::vector<Layout> parts;
    for (const Layout& part : node().parts) {
      parts.push_back(part.within(groups, extents, reduction));
    }
    return stack(std::move(parts));
  }
  Recipe recipe = block().recipe;
  require(extents.empty() ||
              (extents.size() == at(comm().size()) && recipe.kind == Recipe::Kind::scatter),
          "Layout::within: {} extents given for {}", extents.size(), describe());
  recipe.grids.clear();
  recipe.splits.clear();
  recipe.extents = extents;
  return make(comm(), shape(), recipe, {groups.begin(), groups.end()}, reduction).on(device());
}

Layout Layout::replicated_like(const Shape& other) const {
  const Node& node = block();
  return make(comm(), other, {}, node.groups, node.reduction).on(device());
}

Layout Layout::without(int axis) const {
  const Node& node = block();
  axis = normalize_axis(axis, ndim(), "Layout::without");
  std::shared_ptr<const Node>& cached = node.reduced[at(axis)];
  if (cached != nullptr) return Layout(cached);

  const Shape rest = shape().without(axis);
  Recipe recipe = node.recipe;
  std::vector<int> names = node.groups;
  Comm reduction = node.reduction;
  if (recipe.kind == Recipe::Kind::scatter) {
    if (recipe.axis > axis) --recipe.axis;
    if (node.recipe.axis == axis) recipe = {};
  } else if (recipe.kind == Recipe::Kind::bricks) {
    // Ranks at the same place along the axis have the whole result between them. How many places
    // there are is for each group to say, so that nothing here may be collective over all of them.
    for (int rank = 0; rank < comm().size(); ++rank) {
      names[at(rank)] =
          node.groups[at(rank)] * comm().size() + static_cast<int>(coordinates(rank)[axis]);
    }
    names = numbered(names);
    const auto new_groups = at(1 + *std::max_element(names.begin(), names.end()));
    recipe.grids.assign(new_groups, {});
    recipe.splits.assign(new_groups, {});
    bool cut = false;
    for (int rank = 0; rank < comm().size(); ++rank) {
      const Node::GroupPlan& plan = node.plan(rank);
      const Shape cells = Shape(plan.grid).without(axis);
      recipe.grids[at(names[at(rank)])] = cells;
      auto& rest_splits = recipe.splits[at(names[at(rank)])];
      rest_splits = plan.splits;
      rest_splits.erase(rest_splits.begin() + axis);
      cut = cut || cells.count() > 1;
    }
    std::erase(recipe.order, axis);
    for (int& other : recipe.order) other -= other > axis ? 1 : 0;
    if (!cut) {
      recipe = {};
      names = node.groups;
    } else if (is_cut(axis)) {
      reduction = node.reduction.split(static_cast<int>(coordinates(comm().rank())[axis]));
    }
  }
  cached = make(comm(), rest, recipe, std::move(names), reduction).on(device()).node_;
  return Layout(cached);
}

Layout Layout::recut(
    int axis, const std::function<std::vector<index_t>(std::span<const index_t>)>& recut) const {
  const Node& node = block();
  axis = normalize_axis(axis, ndim(), "Layout::recut");
  std::vector<std::vector<index_t>> moved;
  for (const Node::GroupPlan& plan : node.plans) {
    const std::vector<index_t>& old = plan.splits[at(axis)];
    moved.push_back(recut(old));
    require(moved.back().size() == old.size() && moved.back().front() == 0 &&
                std::is_sorted(moved.back().begin(), moved.back().end()),
            "Layout::recut: axis {} of {} needs {} splits that begin with 0 and do not decrease",
            axis, describe(), old.size());
    require(moved.back().back() == moved.front().back(),
            "Layout::recut: axis {} of {} would have {} elements in one group of ranks and {} in "
            "another",
            axis, describe(), moved.front().back(), moved.back().back());
  }
  Recipe recipe = node.recipe;
  if (recipe.kind == Recipe::Kind::scatter && recipe.axis == axis) {
    recipe.extents.clear();
    for (int rank = 0; rank < comm().size(); ++rank) {
      const index_t* split = moved[at(group(rank))].data() + node.positions[at(rank)];
      recipe.extents.push_back(split[1] - split[0]);
    }
  } else if (recipe.kind == Recipe::Kind::bricks) {
    recipe.grids.clear();
    recipe.splits.clear();
    for (std::size_t number = 0; number < node.plans.size(); ++number) {
      recipe.grids.push_back(node.plans[number].grid);
      recipe.splits.push_back(node.plans[number].splits);
      recipe.splits.back()[at(axis)] = moved[number];
    }
  }
  return make(comm(), shape().with(axis, moved.front().back()), recipe, node.groups, node.reduction)
      .on(device());
}

Layout Layout::permuted(std::span<const int> axes) const {
  const Node& node = block();
  std::vector<int> place(at(ndim()), -1);  // of each axis of this layout in the new one
  bool each_once = axes.size() == place.size();
  for (std::size_t i = 0; i < axes.size() && each_once; ++i) {
    each_once = axes[i] >= 0 && axes[i] < ndim() && place[at(axes[i])] < 0;
    if (each_once) place[at(axes[i])] = static_cast<int>(i);
  }
  require(each_once, "Layout::permuted: [{}] does not name each of the {} axes of {} once",
          fmt::join(axes, ", "), ndim(), to_string(shape()));
  const auto reordered = [&](const Index& old) {
    Index result = old;
    for (int i = 0; i < ndim(); ++i) result[i] = old[axes[at(i)]];
    return result;
  };
  Recipe recipe = node.recipe;
  if (recipe.kind == Recipe::Kind::scatter) recipe.axis = place[at(recipe.axis)];
  if (recipe.kind == Recipe::Kind::bricks) {
    recipe = {.kind = Recipe::Kind::bricks};
    for (int level = 0; level < ndim(); ++level) {
      recipe.order.push_back(place[at(node.recipe.axis_at(level))]);
    }
    for (const Node::GroupPlan& plan : node.plans) {
      recipe.grids.push_back(reordered(plan.grid));
      recipe.splits.emplace_back();
      for (const int axis : axes) recipe.splits.back().push_back(plan.splits[at(axis)]);
    }
  }
  return make(comm(), Shape(reordered(shape())), recipe, node.groups, node.reduction).on(device());
}

}  // namespace weft
