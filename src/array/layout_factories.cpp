#include "array/layout_node.hpp"

#include <weft/core/error.hpp>

#include "array/balanced_splits.hpp"
#include "core/at.hpp"

#include <algorithm>

namespace weft {

using detail::at;
using detail::require_rank;

namespace {

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

/// The splits of a group whose ranks have chosen their extents along the axis of a scatter.
std::vector<index_t> splits_of_extents(const LayoutRecipe& recipe, const std::vector<int>& members,
                                       const Shape& shape) {
  const int axis = recipe.axis;
  std::vector<index_t> splits{0};
  for (const int rank : members) {
    const index_t extent = recipe.extents[at(rank)];
    require(extent >= 0 && extent <= shape[axis],
            "Layout::scatter: one of the extents is {}, but axis {} of {} has {}", extent, axis,
            to_string(shape), shape[axis]);
    index_t end = 0;
    require(!__builtin_add_overflow(splits.back(), extent, &end),
            "Layout::scatter: the sum of the extents exceeds 64 bits");
    splits.push_back(end);
  }
  require(splits.back() == shape[axis],
          "Layout::scatter: the sum of the extents is {}, but axis {} of {} has {}", splits.back(),
          axis, to_string(shape), shape[axis]);
  return splits;
}

}  // namespace

Index LayoutRecipe::grid_for(const Shape& shape, std::size_t group, int ranks) const {
  Index cells = Index::filled(shape.ndim(), 1);
  if (kind == Kind::scatter) cells[axis] = ranks;
  if (kind == Kind::bricks) cells = grids.empty() ? compact_grid(shape, ranks) : grids[group];
  return cells;
}

Layout detail::LayoutBuilder::make(const Comm& comm, const Shape& shape, const LayoutRecipe& recipe,
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
    require(recipe.kind != LayoutRecipe::Kind::bricks || Shape(plan.grid).count() == ranks,
            "Layout::bricks: a grid of {} has {} cells, but there are {} ranks",
            to_string(plan.grid), Shape(plan.grid).count(), ranks);
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      plan.splits.push_back(recipe.splits.empty() ? balanced_splits(shape[axis], plan.grid[axis])
                                                  : recipe.splits[group][at(axis)]);
    }
    if (!recipe.extents.empty()) {
      plan.splits[at(recipe.axis)] = splits_of_extents(recipe, plan.members, shape);
    }
  }
  const Layout layout(node);
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

Layout detail::LayoutBuilder::make(const Comm& comm, const Shape& shape,
                                   const LayoutRecipe& recipe) {
  return make(comm, shape, recipe, std::vector<int>(at(comm.size())), comm);
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
  const LayoutRecipe recipe{
      .kind = LayoutRecipe::Kind::scatter, .axis = axis, .extents = std::move(extents)};
  return detail::LayoutBuilder::make(comm, shape, recipe);
}

Layout Layout::bricks(const Comm& comm, const Shape& shape, const Index& grid) {
  require(grid.ndim() == shape.ndim() && grid.ndim() > 0,
          "Layout::bricks: a grid with {} axes cannot cut a shape with {}", grid.ndim(),
          shape.ndim());
  require(std::all_of(grid.begin(), grid.end(), [](index_t parts) { return parts >= 1; }),
          "Layout::bricks: a grid of {} has no cells", to_string(grid));
  const LayoutRecipe recipe{.kind = LayoutRecipe::Kind::bricks, .grids = {grid}};
  return detail::LayoutBuilder::make(comm, shape, recipe);
}

Layout Layout::bricks(const Comm& comm, const Shape& shape) {
  require(shape.ndim() > 0, "Layout::bricks: an array without axes cannot be cut");
  return detail::LayoutBuilder::make(comm, shape, {.kind = LayoutRecipe::Kind::bricks});
}

Layout Layout::replicated(const Comm& comm, const Shape& shape) {
  return detail::LayoutBuilder::make(comm, shape, {});
}

Layout Layout::on_rank(const Comm& comm, const Shape& shape, int rank) {
  require_rank(rank, comm.size(), "Layout::on_rank");
  require(shape.ndim() > 0, "Layout::on_rank: an array without axes cannot be put on one rank");
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
  index_t total = 0;
  index_t offset = 0;  // at most the total
  for (const Layout& part : parts) {
    require(!__builtin_add_overflow(total, part.count(), &total),
            "Layout::stack: the number of elements exceeds 64 bits");
    node->part_offsets.push_back(offset);
    offset += part.local_count();
  }
  node->parts = std::move(parts);
  return Layout(node);
}

}  // namespace weft
