#pragma once

#include <weft/array/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// What a layout knows: for layout.cpp, which makes layouts, and layout_queries.cpp, which reads
// them.

namespace weft {

/// How the ranks of a group divide the array.
struct Layout::Recipe {
  enum class Kind : std::uint8_t { scatter, bricks, replicated };

  Kind kind = Kind::replicated;
  int axis = 0;
  /// Of every rank, for a scatter along parts that the caller has chosen.
  std::vector<index_t> extents = {};
  /// Of the bricks of each group, unless they are to be found.
  std::vector<Index> grids = {};
  /// Of each axis of the bricks of each group, unless they are even.
  std::vector<std::vector<std::vector<index_t>>> splits = {};
  /// The axes from the one along which ranks of bricks are far apart to the one along which they
  /// are neighbours; 0, 1, 2, ... unless given.
  std::vector<int> order = {};

  int axis_at(int level) const {
    return order.empty() ? level : order[static_cast<std::size_t>(level)];
  }

  /// The number of parts along each axis for a group of so many ranks.
  Index grid_for(const Shape& shape, std::size_t group, int ranks) const;
};

struct Layout::Node {
  /// The ranks that together have the array once, and how they divide it.
  struct GroupPlan {
    std::vector<int> members;
    Index grid;
    std::vector<std::vector<index_t>> splits;
  };

  Node(const Comm& on_comm, Device on_device)
      : comm(on_comm), device(on_device), reduction(on_comm) {}

  const GroupPlan& plan(int rank) const {
    return plans[static_cast<std::size_t>(groups[static_cast<std::size_t>(rank)])];
  }

  Comm comm;
  Device device;
  std::vector<Layout> parts;          // of a stack; what follows is of one that is not
  std::vector<index_t> part_offsets;  // in the memory of this rank

  Shape shape;
  Recipe recipe;
  std::vector<int> groups;
  std::vector<int> positions;  // of each rank within its group
  std::vector<GroupPlan> plans;
  std::vector<Box> boxes;
  Comm reduction;

  // Made when first asked for, by all ranks together.
  mutable std::vector<std::shared_ptr<const Node>> reduced;
  mutable std::vector<std::shared_ptr<const Comm>> lines;
};

}  // namespace weft
