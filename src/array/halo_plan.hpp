#pragma once

// The geometry of a halo exchange: which cells go from which rank to which. Every rank computes it
// for itself and for its neighbours, so that sender and receiver need not communicate about it.

#include <weft/array/halo_exchange.hpp>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

/// Consecutive ghost cells of one side that come from evenly spaced elements of one part.
struct GhostRun {
  Side side = Side::before;
  index_t ghost = 0;   // first position among the ghost cells of the side
  index_t source = 0;  // global position it is fetched from
  index_t length = 0;
  index_t step = 1;    // from one source to the next: 1, -1 (mirrored) or 0 (repeated)
  index_t owner = -1;  // place of that part along the axis; -1: no part, the value is zero
};

/// The sources of the ghost cells of the part at `place` along an axis.
std::vector<GhostRun> ghost_runs(std::span<const index_t> splits, index_t place, AxisPadding width,
                                 Boundary boundary);

/// Throws if an array of this shape cannot have these widths and this boundary.
void check_halo(const Shape& shape, const std::vector<AxisPadding>& widths, Boundary boundary,
                const char* who);

/// The text that ranks compare.
std::string text_of(const std::vector<AxisPadding>& widths, const HaloOptions& options);

/// A region of the array, or of the ghost cells of an earlier axis, that is part of a slab.
struct SlabPiece {
  int ghost_axis = -1;  // -1: the array
  Side ghost_side = Side::before;
  Shape plane;  // extent 1 along the axis of the pass
  Index strides;
  Index slab_at;  // its position in the slab
};

/// The planes that one rank sends to another.
struct HaloMessage {
  int peer = 0;
  std::vector<GhostRun> runs = {};
};

/// The exchange along one axis. A slab consists of planes across the axis, extended by the ghost
/// cells of earlier axes, so that corners travel with it.
struct HaloPass {
  int axis = 0;
  Index origin;      // of the array within a slab: the widths of the earlier axes
  Shape plane = {};  // a slab of one plane
  std::vector<SlabPiece> pieces = {};
  std::array<Shape, 2> ghost_shapes = {};  // before, after
  std::vector<GhostRun> own = {};          // cells that come from this rank's own part
  std::vector<HaloMessage> outgoing = {};
  std::vector<HaloMessage> incoming = {};
  bool is_plain = false;   // slabs are parts of the array, without ghost cells of other axes
  bool has_zeros = false;  // some ghost cells have no source

  bool has_messages() const { return !incoming.empty() || !outgoing.empty(); }
  const Shape& ghost_shape(Side side) const { return ghost_shapes[static_cast<std::size_t>(side)]; }
  Shape slab_shape(index_t planes) const { return plane.with(axis, planes); }
  index_t element_count(const HaloMessage& message) const;
  /// The message fills one side exactly, and can be received there.
  bool fills_a_side(const HaloMessage& message) const;
};

struct HaloPlan {
  /// The layout must be the same on all ranks of a group, as must the widths and options.
  HaloPlan(Layout on_layout, std::vector<AxisPadding> of_widths, HaloOptions with_options);

  Layout layout;
  std::vector<AxisPadding> widths;
  HaloOptions options;
  Shape local;                   // of this rank's part
  std::vector<HaloPass> passes;  // one per axis

 private:
  HaloPass make_pass(int axis) const;
  void find_messages(HaloPass& pass) const;
};

}  // namespace weft::detail
