#include <weft/op/windows/window_design.hpp>

#include <weft/core/error.hpp>

#include "core/option_checks.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {
namespace {

bool fits(index_t n, index_t window, index_t overlap) {
  return window >= 1 && overlap >= 0 && overlap < window && window <= n &&
         (n - window) % (window - overlap) == 0;
}

/// The number in [first, last] nearest to `wanted` for which accept(number); 0 if there is none.
template <class F>
index_t nearest(index_t wanted, index_t first, index_t last, F accept) {
  if (first > last) return 0;
  wanted = std::clamp(wanted, first, last);
  for (index_t distance = 0; wanted - distance >= first || wanted + distance <= last; ++distance) {
    for (const index_t number : {wanted - distance, wanted + distance}) {
      if (number >= first && number <= last && accept(number)) return number;
    }
  }
  return 0;
}

}  // namespace

WindowDesign window_design(index_t n, index_t window, index_t overlap) {
  require(n >= 0, "window_design: an axis cannot have {} elements", n);
  require(window >= 1, "window_design: a window must have at least one element, got {}", window);
  require(overlap >= 0 && overlap < window,
          "window_design: the overlap must be from 0 to {} for windows of {}, got {}", window - 1,
          window, overlap);
  WindowDesign design{.step = window - overlap};
  design.count = n < window ? 0 : (n - window) / design.step + 1;
  for (index_t i = 0; i < design.count; ++i) design.starts.push_back(i * design.step);
  if (design.count > 0) design.covered = design.starts.back() + window;
  design.fits = design.count > 0 && design.covered == n;
  design.shorter_extent = design.covered;
  design.longer_extent = design.count == 0 ? window
                         : design.fits     ? n
                                           : design.covered + design.step;
  if (design.count > 0) {
    design.nearest_overlap =
        nearest(overlap, 0, window - 1, [&](index_t other) { return fits(n, window, other); });
  }
  design.nearest_window =
      nearest(window, overlap + 1, n, [&](index_t other) { return fits(n, other, overlap); });
  return design;
}

std::string_view to_string(Taper taper) {
  switch (taper) {
    case Taper::hanning: return "hanning";
    case Taper::cosine: return "cosine";
    case Taper::cosine_square: return "cosine_square";
    case Taper::none: return "none";
  }
  return "unknown";
}

std::vector<double> taper_weights(index_t window, index_t overlap, Taper taper) {
  detail::require_enumerator(taper, Taper::none, "taper_weights", "Taper");
  require(overlap >= 0 && overlap <= window, "taper_weights: an overlap of {} of a window of {}",
          overlap, window);
  std::vector<double> weights(static_cast<std::size_t>(window), 1.0);
  if (taper == Taper::none || overlap < 2) return weights;
  require(2 * overlap <= window,
          "taper_weights: with a taper, the overlap must be at most half of the window, got {} of "
          "{}; use a smaller overlap, or Taper::none",
          overlap, window);
  for (index_t k = 0; k < overlap; ++k) {
    const double angle =
        std::numbers::pi * static_cast<double>(k) / static_cast<double>(overlap - 1);
    const double ramp = (1 - std::cos(angle)) / 2;
    const double weight = taper == Taper::cosine_square ? ramp * ramp : ramp;
    weights[static_cast<std::size_t>(k)] = weight;
    weights[static_cast<std::size_t>(window - 1 - k)] = weight;
  }
  return weights;
}

}  // namespace weft
