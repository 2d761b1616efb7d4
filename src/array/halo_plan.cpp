#include "array/halo_plan.hpp"

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

}  // namespace weft::detail
