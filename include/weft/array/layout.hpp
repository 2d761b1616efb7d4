#pragma once

#include <weft/comm/comm.hpp>
#include <weft/core/device.hpp>
#include <weft/core/shape.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {

namespace detail {
class LayoutBuilder;
}

/// Where every element of a global array lives. Immutable and cheap to copy. Every rank of the
/// communicator builds the same layout; after that, queries send no messages.
///
/// The array is cut along its axes into a grid of boxes, one for each rank, or every rank has all
/// of it (`replicated`). With `within`, each group of ranks has an array of its own. Functions that
/// derive layouts from others are in layout_transforms.hpp.
class Layout {
 public:
  /// On this rank alone: a layout of Comm::self().
  static Layout local(const Shape& shape);
  /// Cut along one axis into parts of nearly equal extent; the first ranks get one more.
  static Layout scatter(const Comm& comm, const Shape& shape, int axis = 0);
  /// Cut along one axis into parts of the given extents, one per rank, which may be zero.
  static Layout scatter(const Comm& comm, const Shape& shape, int axis,
                        std::vector<index_t> extents);
  /// Cut along several axes: `grid` has the number of parts along each axis; their product is the
  /// number of ranks.
  static Layout bricks(const Comm& comm, const Shape& shape, const Index& grid);
  /// Cut along several axes, on a grid that keeps the boxes close to cubes.
  static Layout bricks(const Comm& comm, const Shape& shape);
  /// All elements on every rank. Programs keep the copies equal; WEFT_CHECK=1 verifies that.
  static Layout replicated(const Comm& comm, const Shape& shape);
  /// All elements on one rank, none on the others.
  static Layout on_rank(const Comm& comm, const Shape& shape, int rank);
  /// Several arrays as one; the parts may be stacks themselves.
  static Layout stack(std::vector<Layout> parts);

  /// The same layout with memory on another device.
  Layout on(Device device) const;
  /// The same kind of layout for each group of ranks: ranks with the same number in `groups` (one
  /// per rank) share one array. Collective, since reductions get a communicator per group. Each
  /// group cuts the array anew, into equal parts unless extents are given (one per rank, for a
  /// layout that is cut along one axis). One group of all ranks gives an ordinary layout.
  Layout within(std::span<const int> groups, const std::vector<index_t>& extents = {}) const;

  /// The same elements at the same places, in memory of the same device, shared by the same groups
  /// of ranks. Costs no message.
  friend bool operator==(const Layout& a, const Layout& b);

  const Comm& comm() const;
  Device device() const;
  /// False for a moved-from layout, for which every other query throws.
  bool valid() const { return node_ != nullptr; }
  /// Number of elements of the global array, and on a rank.
  index_t count() const;
  index_t local_count() const;
  index_t local_count(int rank) const;
  /// Several groups of ranks have an array (or, in a stack, some part) of their own. The answer is
  /// the same on all ranks.
  bool is_within_groups() const;

  bool is_stack() const;
  int part_count() const;
  const Layout& part(int index) const;

  // The following queries are for layouts that are not stacks.

  const Shape& shape() const;
  int ndim() const { return shape().ndim(); }
  /// The region that a rank has, in global coordinates.
  const Box& box() const;
  const Box& box(int rank) const;
  /// A rank that has the element: this one if it does, otherwise one of its group.
  int owner(const Index& position) const;
  /// Every rank (of each group) has all elements.
  bool is_replicated() const;

  /// The number of parts along each axis, and where each part begins; the last split is the extent.
  /// These are of this rank's group: other groups may be cut differently, or not at all.
  const Index& grid() const;
  std::span<const index_t> splits(int axis) const;
  bool is_cut(int axis) const;
  /// Whether any group is cut along an axis. The answer is the same on all ranks.
  bool is_cut_anywhere(int axis) const;
  /// The cell of a rank in the grid of its group, and the rank of this rank's group in a cell.
  Index coordinates(int rank) const;
  int rank_at(const Index& cell) const;

  /// The group of a rank, counted from 0, and the number of groups: 1 unless the layout is within
  /// groups.
  int group(int rank) const;
  int group_count() const;
  /// The ranks of this rank's group, which share the array.
  const Comm& group_comm() const;
  /// The ranks of this rank's group that differ only in their place along an axis; not valid() if
  /// the axis is not cut. Collective over the group the first time.
  Comm line_comm(int axis) const;

 private:
  friend class detail::LayoutBuilder;
  struct Node;
  explicit Layout(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  /// The shared state; throws if moved from.
  const Node& node() const;
  /// The shared state of a layout that is not a stack.
  const Node& block() const;

  std::shared_ptr<const Node> node_;
};

/// For messages: the shape, how it is cut, over how many ranks, and the device.
std::string to_string(const Layout& layout);

}  // namespace weft
