#pragma once

#include <weft/array/layout.hpp>
#include <weft/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

// The shared state of layouts, for the files that build and read it.

namespace weft {
namespace detail {

/// `where` is the function that got the rank.
inline void require_rank(int rank, int ranks, const char* where) {
  require(rank >= 0 && rank < ranks, "{}: rank {} is not one of the {} ranks", where, rank, ranks);
}

}  // namespace detail

/// How the ranks of a group divide the array.
struct LayoutRecipe {
  enum class Kind : std::uint8_t { scatter, bricks, replicated };

  Kind kind = Kind::replicated;
  int axis = 0;
  /// Of a scatter: the extent on every rank; balanced if empty.
  std::vector<index_t> extents = {};
  /// Of bricks: the grid of each group; compact if empty.
  std::vector<Index> grids = {};
  /// Of bricks: the splits of each group and axis; balanced if empty.
  std::vector<std::vector<std::vector<index_t>>> splits = {};
  /// Of bricks: the axes from the slowest to the fastest in the numbering of ranks; 0, 1, 2, ... if
  /// empty.
  std::vector<int> order = {};

  int axis_at(int level) const {
    return order.empty() ? level : order[static_cast<std::size_t>(level)];
  }

  /// The number of parts along each axis for a group of `ranks` ranks.
  Index grid_for(const Shape& shape, std::size_t group, int ranks) const;
};

struct Layout::Node {
  /// A group of ranks, and how they divide the array.
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
  // Of a stack.
  std::vector<Layout> parts;
  std::vector<index_t> part_offsets;  // in the memory of this rank

  // Of a layout that is not a stack.
  Shape shape;
  LayoutRecipe recipe;
  std::vector<int> groups;
  std::vector<int> positions;  // of each rank within its group
  std::vector<GroupPlan> plans;
  std::vector<Box> boxes;
  Comm reduction;

  // Created collectively at the first request.
  mutable std::vector<std::shared_ptr<const Node>> reduced;
  mutable std::vector<std::shared_ptr<const Comm>> lines;
};

namespace detail {

/// Builds layouts; the only class that creates and reads their shared state from outside.
class LayoutBuilder {
 public:
  using Node = Layout::Node;

  static Layout make(const Comm& comm, const Shape& shape, const LayoutRecipe& recipe,
                     std::vector<int> groups, const Comm& reduction);
  /// The same on all ranks of the communicator, which form one group.
  static Layout make(const Comm& comm, const Shape& shape, const LayoutRecipe& recipe);
  static Layout wrap(std::shared_ptr<const Node> node) { return Layout(std::move(node)); }
  static const std::shared_ptr<const Node>& shared_node(const Layout& layout) {
    return layout.node_;
  }
  /// The state of a layout that is not a stack; throws if it is one.
  static const Node& node(const Layout& layout) { return layout.block(); }
  /// The state of any layout; throws if it was moved from.
  static const Node& any_node(const Layout& layout) { return layout.node(); }
};

}  // namespace detail

}  // namespace weft
