#pragma once

#include <weft/array/halo_exchange.hpp>

#include <span>
#include <string>
#include <vector>

namespace weft::detail {

/// Neighbouring ghost cells of one side that come from neighbouring elements of one part.
struct GhostRun {
  Side side = Side::before;
  index_t ghost = 0;   // first position among the ghost cells of the side
  index_t source = 0;  // global position it is fetched from
  index_t length = 0;
  index_t step = 1;    // from one source to the next: 1, -1 (mirrored) or 0 (repeated)
  index_t owner = -1;  // place of that part along the axis; -1: nowhere, the value is zero
};

/// Where the ghost cells of the part at `place` along an axis come from. Every rank can tell for
/// any other, so that sender and receiver need not talk about it.
std::vector<GhostRun> ghost_runs(std::span<const index_t> splits, index_t place, HaloWidth width,
                                 Boundary boundary);

/// Complains about widths and boundaries that an array cannot have.
void check_halo(const Shape& shape, const std::vector<HaloWidth>& widths, Boundary boundary,
                const char* who);

/// What ranks compare.
std::string text_of(const std::vector<HaloWidth>& widths, const HaloOptions& options);

}  // namespace weft::detail
