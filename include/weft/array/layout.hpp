#pragma once

#include <weft/comm/comm.hpp>
#include <weft/core/device.hpp>
#include <weft/core/shape.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// Where every element of a global array lives. Immutable and cheap to copy; computed once on every
/// rank, and never a message afterwards. All ranks of the communicator make the same layout.
///
/// The array is cut along its axes into a grid of boxes, one for each rank; or into one, which all
/// ranks have (`replicated`). With `within`, each group of ranks has the whole array for itself.
class Layout {
 public:
  /// On this rank alone: a layout of Comm::self().
  static Layout local(const Shape& shape);
  /// Cut along one axis into parts of nearly the same extent; the first ranks get one more.
  static Layout scatter(const Comm& comm, const Shape& shape, int axis = 0);
  /// Cut along one axis into parts of the given extents, one per rank; they may be zero.
  static Layout scatter(const Comm& comm, const Shape& shape, int axis,
                        std::vector<index_t> extents);
  /// Cut along several axes: `grid` has the number of parts along each, in all one per rank.
  static Layout bricks(const Comm& comm, const Shape& shape, const Index& grid);
  /// The same on a grid that keeps the boxes close to cubes.
  static Layout bricks(const Comm& comm, const Shape& shape);
  /// All of it on every rank. Programs keep the copies equal; WEFT_CHECK=1 verifies that they are,
  /// within groups.
  static Layout replicated(const Comm& comm, const Shape& shape);
  /// All of it on one rank, nothing on the others.
  static Layout on_rank(const Comm& comm, const Shape& shape, int rank);
  /// Several arrays taken as one; the parts may be stacks themselves.
  static Layout stack(std::vector<Layout> parts);

  /// The same layout with memory on another device.
  Layout on(Device device) const;
  /// The same kind of layout for each group of ranks by itself: ranks that have the same number in
  /// `groups` (one per rank) share one copy of the array. Collective, since reductions get a
  /// communicator per group. The array is cut anew for the ranks of a group, into equal parts
  /// unless extents are given (one per rank, for a layout that is cut along one axis). With one
  /// group of all ranks it is a layout like any other.
  Layout within(std::span<const int> groups, const std::vector<index_t>& extents = {}) const;
  /// What remains after a reduction along an axis. Collective the first time if the axis is cut.
  Layout without(int axis) const;
  /// The same ranks in the same cells of the grid, with one axis cut at other places: `recut` gets
  /// the splits of a group (those of splits(axis)) and returns as many new ones, which begin with
  /// 0, do not decrease, and end with the new extent.
  Layout recut(int axis,
               const std::function<std::vector<index_t>(std::span<const index_t>)>& recut) const;
  /// Axis i is axes[i] of this layout; every rank keeps its elements.
  Layout permuted(std::span<const int> axes) const;

  /// All of an array of another shape on every rank: a copy for each, of which those within the
  /// groups of this layout are the same. No messages.
  Layout replicated_like(const Shape& shape) const;

  const Comm& comm() const;
  Device device() const;
  /// False once it has been moved from; every other query throws then.
  bool valid() const { return node_ != nullptr; }
  bool is_stack() const;
  int part_count() const;
  const Layout& part(int index) const;
  /// The position of a part's first element in this rank's memory of the stack.
  index_t part_offset(int index) const;

  /// Number of elements of the global array, and on a rank.
  index_t count() const;
  index_t local_count() const;
  index_t local_count(int rank) const;
  /// There are several groups of ranks, each of which has an array (of a stack: some part) for
  /// itself. All ranks get the same answer.
  bool is_within_groups() const;

  // The rest is for layouts that are not stacks.

  const Shape& shape() const;
  int ndim() const { return shape().ndim(); }
  /// What a rank has, in global coordinates.
  const Box& box() const;
  const Box& box(int rank) const;
  /// A rank that has the element: this one if it does, else the one of its group.
  int owner(const Index& position) const;

  /// Number of parts along each axis, and where each begins; splits end with the extent. These are
  /// of the group that this rank is in: others may be cut in other ways, or not at all.
  const Index& grid() const;
  std::span<const index_t> splits(int axis) const;
  bool is_cut(int axis) const;
  /// For any group, along an axis or along some axis: all ranks get the same answer.
  bool is_cut_anywhere(int axis) const;
  bool is_cut_anywhere() const;
  /// The cell of a rank in the grid of its group, and the rank of this group in a cell.
  Index coordinates(int rank) const;
  int rank_at(const Index& cell) const;
  /// The group that a rank belongs to, counted from 0, and how many groups there are: 1 unless the
  /// layout is within groups.
  int group(int rank) const;
  int group_count() const;
  /// Every rank (of each group) has all elements.
  bool is_replicated() const;
  /// The ranks of this rank's group, which have the array between them.
  const Comm& group_comm() const;
  /// The ranks whose parts together are the array once; not valid() if that is this rank alone.
  const Comm& reduction_comm() const;
  /// Those of them that differ only in their place along an axis. Collective the first time.
  Comm line_comm(int axis) const;

  /// The same elements at the same places, in memory of the same device, shared by the same groups
  /// of ranks. Costs no message.
  friend bool operator==(const Layout& a, const Layout& b);
  /// The same number for equal layouts, and on all ranks that have made the same one.
  std::uint64_t hash() const;
  std::string describe() const;

 private:
  struct Node;
  struct Recipe;
  explicit Layout(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  Layout within(std::span<const int> groups, const std::vector<index_t>& extents,
                const Comm& reduction) const;
  static Layout make(const Comm& comm, const Shape& shape, const Recipe& recipe,
                     std::vector<int> groups, const Comm& reduction);
  /// The shared state; throws if it has been moved from.
  const Node& node() const;
  /// The same of one that is not a stack.
  const Node& block() const;

  std::shared_ptr<const Node> node_;
};

}  // namespace weft
