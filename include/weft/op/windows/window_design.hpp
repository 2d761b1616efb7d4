#pragma once

#include <weft/core/shape.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft {

/// Windows along an axis: window i covers [i * step, i * step + window).
struct WindowDesign {
  /// The windows that fit completely; windows beyond the end are not counted.
  index_t count = 0;
  /// From the beginning of one window to that of the next: window - overlap.
  index_t step = 0;
  /// Where each window begins.
  std::vector<index_t> starts = {};
  /// Elements of the axis that the windows cover: [0, covered). The windows fit if that is all.
  index_t covered = 0;
  bool fits = false;

  // Sizes that fit. An extent that fits is its own nearest one.

  /// The longest extent up to the given one, or 0 if the axis is shorter than a window, and the
  /// shortest from it on.
  index_t shorter_extent = 0;
  index_t longer_extent = 0;
  /// The overlap nearest to the given one with the same window, and the window nearest to the given
  /// one with the same overlap; of two, the smaller. 0 if there is none.
  index_t nearest_overlap = 0;
  index_t nearest_window = 0;
};

/// The windows of `window` elements along an axis of n elements, where each shares `overlap`
/// elements with the next. PyLops: sliding1d_design and others, for each axis.
WindowDesign window_design(index_t n, index_t window, index_t overlap);

/// The ramps at both ends of a window, over k = 0, ..., overlap - 1 from the end inwards. An
/// overlap of one element has no ramp.
enum class Taper : std::uint8_t {
  hanning,        // (1 - cos(pi k / (overlap - 1))) / 2: adjacent windows add up to 1
  cosine,         // the same weights; PyLops has both names
  cosine_square,  // their squares
  none,           // 1
};
std::string_view to_string(Taper taper);

/// The weights of a window between others. The first window of an axis has no ramp at its
/// beginning, the last one none at its end.
std::vector<double> taper_weights(index_t window, index_t overlap, Taper taper);

}  // namespace weft
