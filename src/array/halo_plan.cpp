#include "array/halo_plan.hpp"

#include <weft/array/format.hpp>
#include <weft/core/error.hpp>

#include "array/strides.hpp"
#include "core/at.hpp"
#include "core/option_checks.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace weft {

using detail::at;

std::string_view to_string(Boundary boundary) {
  switch (boundary) {
    case Boundary::zero: return "zero";
    case Boundary::periodic: return "periodic";
    case Boundary::reflect: return "reflect";
    case Boundary::edge: return "edge";
  }
  return "unknown";
}

std::string_view to_string(Side side) { return side == Side::before ? "before" : "after"; }

}  // namespace weft

namespace weft::detail {
namespace {

/// The element that a position outside of an axis of n elements stands for; -1 for a zero.
index_t source_of(index_t position, index_t n, Boundary boundary) {
  if (position >= 0 && position < n) return position;
  switch (boundary) {
    case Boundary::zero: break;
    case Boundary::periodic: return (position + n) % n;
    case Boundary::reflect: return position < 0 ? -position : 2 * (n - 1) - position;
    case Boundary::edge: return position < 0 ? 0 : n - 1;
  }
  return -1;
}

index_t owner_of(std::span<const index_t> splits, index_t position) {
  if (position < 0) return -1;
  return std::upper_bound(splits.begin() + 1, splits.end(), position) - splits.begin() - 1;
}

void append_side(std::vector<GhostRun>& runs, std::span<const index_t> splits, Side side,
                 index_t first, index_t width, Boundary boundary) {
  for (index_t ghost = 0; ghost < width; ++ghost) {
    const index_t source = source_of(first + ghost, splits.back(), boundary);
    const index_t owner = owner_of(splits, source);
    if (ghost > 0 && runs.back().owner == owner) {
      GhostRun& run = runs.back();
      const index_t step = source - (run.source + (run.length - 1) * run.step);
      if (run.length == 1) run.step = step;
      if (std::abs(step) <= 1 && step == run.step) {
        ++run.length;
        continue;
      }
      if (run.length == 1) run.step = 1;
    }
    runs.push_back({side, ghost, source, 1, 1, owner});
  }
}

}  // namespace

std::vector<GhostRun> ghost_runs(std::span<const index_t> splits, index_t place, AxisPadding width,
                                 Boundary boundary) {
  std::vector<GhostRun> runs;
  const index_t begin = splits[static_cast<std::size_t>(place)];
  const index_t end = splits[static_cast<std::size_t>(place) + 1];
  if (begin == end) return runs;
  append_side(runs, splits, Side::before, begin - width.before, width.before, boundary);
  append_side(runs, splits, Side::after, end, width.after, boundary);
  return runs;
}

void check_halo(const Shape& shape, const std::vector<AxisPadding>& widths, Boundary boundary,
                const char* who) {
  require_enumerator(boundary, Boundary::edge, who, "boundary");
  require(static_cast<int>(widths.size()) == shape.ndim(), "{}: {} widths given for an array of {}",
          who, widths.size(), to_string(shape));
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const AxisPadding& width = widths[static_cast<std::size_t>(axis)];
    require(width.before >= 0 && width.after >= 0, "{}: negative width along axis {}: {}, {}", who,
            axis, width.before, width.after);
    const index_t limit = boundary == Boundary::reflect ? shape[axis] - 1 : shape[axis];
    require(shape[axis] == 0 || std::max(width.before, width.after) <= limit,
            "{}: widths {} and {} along axis {} of {}; at most {} is possible", who, width.before,
            width.after, axis, to_string(shape), limit);
    index_t padded = 0;
    const bool fits = !__builtin_add_overflow(width.before, width.after, &padded) &&
                      !__builtin_add_overflow(padded, shape[axis], &padded);
    require(fits, "{}: axis {} of {} with widths {} and {} does not fit into 64 bits", who, axis,
            to_string(shape), width.before, width.after);
  }
}

std::string text_of(const std::vector<AxisPadding>& widths, const HaloOptions& options) {
  std::string text = "widths";
  for (const AxisPadding& width : widths) text += fmt::format(" {}", width);
  return fmt::format("{}, boundary {}{}", text, options.boundary,
                     options.corners ? ", corners" : "");
}

index_t HaloPass::element_count(const HaloMessage& message) const {
  index_t planes = 0;
  for (const GhostRun& run : message.runs) planes += run.length;
  return planes * plane.count();
}

bool HaloPass::fills_a_side(const HaloMessage& message) const {
  return message.runs.size() == 1 &&
         message.runs[0].length == ghost_shape(message.runs[0].side)[axis];
}

HaloPlan::HaloPlan(const Layout& on_layout, std::vector<AxisPadding> of_widths,
                   HaloOptions with_options)
    : layout(on_layout), widths(std::move(of_widths)), options(with_options) {
  check_halo(layout.shape(), widths, options.boundary, "HaloExchange");
  local = layout.box().shape;
  for (int axis = 0; axis < layout.ndim(); ++axis) passes.push_back(make_pass(axis));
  for (HaloPass& pass : passes) find_messages(pass);
}

HaloPass HaloPlan::make_pass(int axis) const {
  HaloPass pass{.axis = axis, .origin = Index::filled(layout.ndim(), 0)};
  const int earlier_axes = options.corners ? axis : 0;
  Index plane = local;
  pass.is_plain = true;
  for (int earlier = 0; earlier < earlier_axes; ++earlier) {
    const AxisPadding& width = widths[at(earlier)];
    pass.origin[earlier] = width.before;
    plane[earlier] += width.before + width.after;
    if (width.before + width.after > 0) pass.is_plain = false;
  }
  plane[axis] = 1;
  const bool empty = local.count() == 0;
  pass.plane = empty ? Shape(Index::filled(layout.ndim(), 0)) : Shape(plane);
  const AxisPadding& width = widths[at(axis)];
  pass.ghost_shapes = {empty ? pass.plane : pass.plane.with(axis, width.before),
                       empty ? pass.plane : pass.plane.with(axis, width.after)};
  pass.pieces.push_back(
      {.plane = local.with(axis, 1), .strides = strides_of(local), .slab_at = pass.origin});
  for (int earlier = 0; earlier < earlier_axes; ++earlier) {
    for (const Side side : {Side::before, Side::after}) {
      Index slab_at = pass.origin;
      for (int other = 0; other < earlier; ++other) slab_at[other] = 0;
      slab_at[earlier] = side == Side::before ? 0 : widths[at(earlier)].before + local[earlier];
      const Shape& shape = passes[at(earlier)].ghost_shape(side);
      pass.pieces.push_back({earlier, side, shape.with(axis, 1), strides_of(shape), slab_at});
    }
  }
  return pass;
}

void HaloPlan::find_messages(HaloPass& pass) const {
  if (local.count() == 0) return;
  const Index here = layout.coordinates(layout.comm().rank());
  const auto add = [](std::vector<HaloMessage>& messages, int peer, const GhostRun& run) {
    auto message = std::find_if(messages.begin(), messages.end(),
                                [&](const HaloMessage& known) { return known.peer == peer; });
    if (message == messages.end()) message = messages.insert(messages.end(), HaloMessage{peer});
    message->runs.push_back(run);
  };
  const auto rank_along_axis = [&](index_t place) {
    Index cell = here;
    cell[pass.axis] = place;
    return layout.rank_at(cell);
  };
  for (index_t place = 0; place < layout.grid()[pass.axis]; ++place) {
    const bool mine = place == here[pass.axis];
    for (const GhostRun& run :
         ghost_runs(layout.splits(pass.axis), place, widths[at(pass.axis)], options.boundary)) {
      const bool from_here = run.owner == here[pass.axis];
      if (mine && run.owner < 0) pass.has_zeros = true;
      if (mine && from_here) pass.own.push_back(run);
      if (!mine && from_here) add(pass.outgoing, rank_along_axis(place), run);
      if (mine && !from_here && run.owner >= 0) {
        add(pass.incoming, rank_along_axis(run.owner), run);
      }
    }
  }
}

}  // namespace weft::detail
