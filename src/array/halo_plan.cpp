#include "array/halo_plan.hpp"

#include <weft/core/error.hpp>

#include "core/option_checks.hpp"

#include <algorithm>

namespace weft::detail {
namespace {

/// The position that stands for one beyond the ends of an axis of n elements; -1 for a zero.
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

std::vector<GhostRun> ghost_runs(std::span<const index_t> splits, index_t place, HaloWidth width,
                                 Boundary boundary) {
  std::vector<GhostRun> runs;
  const index_t begin = splits[static_cast<std::size_t>(place)];
  const index_t end = splits[static_cast<std::size_t>(place) + 1];
  if (begin == end) return runs;
  append_side(runs, splits, Side::before, begin - width.before, width.before, boundary);
  append_side(runs, splits, Side::after, end, width.after, boundary);
  return runs;
}

void check_halo(const Shape& shape, const std::vector<HaloWidth>& widths, Boundary boundary,
                const char* who) {
  require_enumerator(boundary, Boundary::edge, who, "boundary");
  require(static_cast<int>(widths.size()) == shape.ndim(), "{}: {} widths given for an array of {}",
          who, widths.size(), to_string(shape));
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const HaloWidth& width = widths[static_cast<std::size_t>(axis)];
    require(width.before >= 0 && width.after >= 0, "{}: negative width along axis {}: {}, {}", who,
            axis, width.before, width.after);
    const index_t limit = boundary == Boundary::reflect ? shape[axis] - 1 : shape[axis];
    require(shape[axis] == 0 || std::max(width.before, width.after) <= limit,
            "{}: widths {} and {} along axis {} of {}; at most {} is possible", who, width.before,
            width.after, axis, to_string(shape), limit);
  }
}

std::string text_of(const std::vector<HaloWidth>& widths, const HaloOptions& options) {
  std::string text = "widths";
  for (const HaloWidth& width : widths) {
    text += fmt::format(" {{{}, {}}}", width.before, width.after);
  }
  return fmt::format("{}, boundary {}{}", text, static_cast<int>(options.boundary),
                     options.corners ? ", corners" : "");
}

}  // namespace weft::detail
