#pragma once

// Stencils on the CPU: threads share tiles, and a tile is computed row by row. Entry point for
// stencil_kernels.cpp; sums of taps are in stencil_tap_sums.hpp, the ends of rows in
// stencil_row_ends.hpp.

#include "op/stencil/stencil_row_ends.hpp"
#include "op/stencil/stencil_tap_sums.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace weft::kernels {

/// Elements of a tile along the last axis, and along all its axes but the first. A plane across the
/// first axis must still be in the cache when the next one reads it: see derivative_bench, rows
/// "laplacian" and "gradient" of (256, 256, 256) and (4096, 4096).
constexpr index_t tile_row = 2048;
constexpr index_t tile_plane = 32768;

/// Computes the rows of a tile, which lie along the last axis.
template <class T, class Update>
class RowLoop {
 public:
  RowLoop(const StencilPlan<T>& plan, const StencilBox& tile, Update update)
      : plan_(plan),
        tile_(tile),
        update_(update),
        last_(plan.axes - 1),
        first_(tile.begin[last_]),
        length_(tile.end[last_] - first_),
        core_begin_(std::clamp<index_t>(plan.core_begin[last_] - first_, 0, length_)),
        core_end_(std::clamp(plan.core_end[last_] - first_, core_begin_, length_)),
        ends_(plan, first_, length_, core_begin_, core_end_) {
    std::copy_n(tile.begin, plan.axes, index_);
    if constexpr (std::is_same_v<Update, Assigned<T>>) {
      const index_t bytes = plan.extents[0] * plan.strides[0] * index_t{sizeof(T)};
      is_plain_ = !is_nonzero(update.alpha - T{1});
      non_temporal_ = is_plain_ && bytes >= non_temporal_bytes && has_aligned_elements();
    }
    for (int output = 0; output < plan.outputs; ++output) set_core_taps(output);
  }

  void run() {
    alignas(line_bytes) T values[tile_row];
    with_taps(plan_.taps, [&](auto count) {
      do {
        const bool in_core = locate_row();
        const index_t rows = in_core && count > 0 ? rows_per_pass() : 1;
        for (int output = 0; output < plan_.outputs; ++output) {
          if (in_core) {
            compute_rows(count, output, core_taps_[output], rows, values);
          } else {
            compute_row_near_edge(output, values);
          }
        }
        if (rows > 1) index_[last_ - 1] += rows - 1;
      } while (advance());
    });
    if (non_temporal_) fence_non_temporal_stores();
  }

 private:
  /// Whether cache lines begin with an element, which complex arrays of a caller need not satisfy.
  bool has_aligned_elements() const {
    return std::all_of(plan_.y, plan_.y + plan_.outputs, [](const T* y) {
      return reinterpret_cast<std::uintptr_t>(y) % sizeof(T) == 0;
    });
  }
  /// Whether no other tap of the same output is further ahead in the same input.
  bool is_furthest_ahead(int tap) const {
    const StencilTap<T>* const first = plan_.tap + tap / plan_.taps * plan_.taps;
    const StencilTap<T>& mine = plan_.tap[tap];
    return std::none_of(first, first + plan_.taps, [&](const StencilTap<T>& other) {
      return other.input == mine.input &&
             (other.shift > mine.shift || (other.shift == mine.shift && &other > &mine));
    });
  }
  /// Sets row_number_ and row_begin_; returns whether the row crosses the core.
  bool locate_row() {
    row_number_ = 0;
    bool in_core = true;
    for (int axis = 0; axis < last_; ++axis) {
      row_number_ = row_number_ * plan_.extents[axis] + index_[axis];
      in_core =
          in_core && index_[axis] >= plan_.core_begin[axis] && index_[axis] < plan_.core_end[axis];
    }
    row_begin_ = row_number_ * plan_.extents[last_] + first_;
    return in_core;
  }
  /// Number of rows to compute as one. Short rows that stay in the cache are contiguous in memory;
  /// values where they meet are wrong at first and replaced by RowEnds.
  index_t rows_per_pass() const {
    if (!is_plain_ || non_temporal_ || last_ == 0) return 1;
    if (length_ < plan_.extents[last_] || core_begin_ == core_end_) return 1;
    const int axis = last_ - 1;
    const index_t left = std::min(tile_.end[axis], plan_.core_end[axis]) - index_[axis];
    return std::clamp<index_t>(tile_row / length_, 1, left);
  }
  template <class Count>
  void compute_rows(Count count, int output, const Taps<T>& taps, index_t rows, T* values) const {
    T* const y = plan_.y[output] + row_begin_;
    constexpr auto order = std::make_index_sequence<count>{};
    if constexpr (count > 0) {
      if (is_plain_) {
        const TapSum sum(order, taps, row_begin_);
        if (non_temporal_) {
          return store_non_temporal(sum, Prefetcher<T>(taps, row_begin_), output, taps, values, y);
        }
        const index_t before = (rows - 1) * length_;  // the last of the rows
        sum_cached_row(sum, reals(core_begin_), reals(before + core_end_), real(y));
        for (index_t r = 0; r < rows; ++r) {
          ends_.compute(output, taps, row_begin_ + r * length_, row_number_ + r, y + r * length_,
                        update_);
        }
        return;
      }
    }
    T* const target = non_temporal_ ? values : y;
    combine(order, taps, row_begin_, core_begin_, core_end_, target, update_);
    ends_.compute(output, taps, row_begin_, row_number_, target, update_);
    if (non_temporal_) copy_non_temporal(values, length_, y);
  }
  [[gnu::noinline]] void compute_row_near_edge(int output, T* values) const {
    Taps<T> taps;
    collect_taps_near_edge(output, taps);
    with_taps(taps.count, [&](auto count) { compute_rows(count, output, taps, 1, values); });
  }
  /// Cache lines in the core are stored from registers. Lines at the ends of the row are assembled
  /// in `values` first, because a partial store of a line would read it from memory.
  template <class Sum, class Prefetch>
  void store_non_temporal(const Sum sum, const Prefetch prefetch, int output, const Taps<T>& taps,
                          T* values, T* y) const {
    constexpr index_t line = line_bytes / sizeof(T);
    const index_t begin =
        std::min(core_end_, core_begin_ + (line - offset_in_line(y + core_begin_)) % line);
    const index_t end = std::max(begin, core_end_ - offset_in_line(y + core_end_));
    sum_cache_lines<Store::non_temporal>(sum, prefetch, reals(begin), reals(end), real(y));
    sum_elements(sum, reals(core_begin_), reals(begin), real(values));
    sum_elements(sum, reals(end), reals(core_end_), real(values));
    ends_.compute(output, taps, row_begin_, row_number_, values, update_);
    if (begin == end) return copy_non_temporal(values, length_, y);
    copy_non_temporal(values, begin, y);
    copy_non_temporal(values + end, length_ - end, y + end);
  }
  /// Weights are real, so that complex elements are computed as pairs of reals.
  static constexpr index_t reals(index_t elements) {
    return std::is_same_v<T, RealOf<T>> ? elements : 2 * elements;
  }
  static RealOf<T>* real(T* y) { return reinterpret_cast<RealOf<T>*>(y); }

  void set_core_taps(int output) {
    Taps<T>& taps = core_taps_[output];
    for (int t = output * plan_.taps; t < (output + 1) * plan_.taps; ++t) {
      const StencilTap<T>& tap = plan_.tap[t];
      taps.add(tap.from, tap.weight);
      if (is_furthest_ahead(t)) taps.prefetched[taps.prefetched_count++] = tap.from;
    }
    taps.across = plan_.across[output];
  }
  /// The taps of a row near an edge, in the order of those in the core: results then do not depend,
  /// bit by bit, on how rows are distributed.
  void collect_taps_near_edge(int output, Taps<T>& taps) const {
    for (int t = 0; t < plan_.terms; ++t) {
      const StencilTerm<T>& term = plan_.term[t];
      if (term.output != output || term.axis == last_) continue;
      const RealOf<T>* weights = row_at(term, index_[term.axis]);
      for (int d = -term.reach; d <= term.reach; ++d) {
        const RealOf<T> weight = weights[d];
        if (weight == 0) continue;
        taps.merge(neighbour(plan_, term, row_begin_, index_[term.axis], d) - row_begin_, weight);
      }
    }
    taps.across = taps.count;
    for (int t = output * plan_.taps + plan_.across[output]; t < (output + 1) * plan_.taps; ++t) {
      const StencilTap<T>& tap = plan_.tap[t];
      taps.add(tap.from, tap.weight);
    }
    taps.prefetched[taps.prefetched_count++] = plan_.tap[output * plan_.taps].from;
  }
  bool advance() {
    for (int axis = last_ - 1; axis >= 0; --axis) {
      if (++index_[axis] < tile_.end[axis]) return true;
      index_[axis] = tile_.begin[axis];
    }
    return false;
  }

  const StencilPlan<T>& plan_;
  const StencilBox& tile_;
  Update update_;
  int last_;
  index_t first_;
  index_t length_;
  index_t core_begin_;  // of a row, relative to first_
  index_t core_end_;
  RowEnds<T> ends_;
  Taps<T> core_taps_[max_dims];
  bool is_plain_ = false;  // y = sum: alpha = 1, beta = 0
  bool non_temporal_ = false;
  index_t index_[max_dims];
  index_t row_number_ = 0;  // of the current row in the part
  index_t row_begin_ = 0;   // its offset in the part
};

template <class T, class Update>
void apply(Cpu, const StencilPlan<T>& plan, const StencilBox& box, Update update) {
  const int last = plan.axes - 1;
  index_t count = 1;
  for (int axis = 0; axis <= last; ++axis) count *= box.end[axis] - box.begin[axis];
  const int threads = detail::threads_for(count);
  index_t tile[max_dims];
  index_t tiles = 1;
  index_t size = 1;
  for (int axis = last; axis >= 0; --axis) {
    const index_t extent = box.end[axis] - box.begin[axis];
    const index_t limit = axis == last ? tile_row
                          : axis > 0   ? std::max<index_t>(1, tile_plane / size)
                                       : (extent + threads - 1) / threads;
    tile[axis] = std::min(extent, limit);
    size *= tile[axis];
    tiles *= (extent + tile[axis] - 1) / tile[axis];
  }
  detail::share_jobs(tiles, threads, [&](index_t job) {
    StencilBox mine;
    index_t rest = job;
    for (int axis = last; axis >= 0; --axis) {
      const index_t along = (box.end[axis] - box.begin[axis] + tile[axis] - 1) / tile[axis];
      mine.begin[axis] = box.begin[axis] + rest % along * tile[axis];
      mine.end[axis] = std::min(box.end[axis], mine.begin[axis] + tile[axis]);
      rest /= along;
    }
    RowLoop<T, Update>(plan, mine, update).run();
  });
}

}  // namespace weft::kernels
