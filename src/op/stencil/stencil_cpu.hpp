#pragma once

// Stencils on the CPU, row by row; for stencil_kernels.cpp only.

#include "op/stencil/stencil_row_ends.hpp"
#include "op/stencil/stencil_tap_sums.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace weft::kernels {

/// Bytes of an output from which on it is written past the caches, as memcpy does: they could not
/// keep it, and would fetch from memory what is to be overwritten.
constexpr index_t streamed_bytes = 12 << 20;

/// Elements of a tile along the last axis, and of all its axes but the first: few enough for what
/// one plane across the first axis shares with the next to be in the cache still.
constexpr index_t row_size = 2048;
constexpr index_t plane_size = 32768;

/// The rows of a tile along the last axis, one after the other.
template <class T, class Put>
class RowLoop {
 public:
  RowLoop(const StencilPlan<T>& plan, const StencilBox& tile, Put put)
      : plan_(plan),
        tile_(tile),
        put_(put),
        last_(plan.axes - 1),
        first_(tile.begin[last_]),
        length_(tile.end[last_] - first_),
        core_begin_(std::clamp<index_t>(plan.core_begin[last_] - first_, 0, length_)),
        core_end_(std::clamp(plan.core_end[last_] - first_, core_begin_, length_)),
        ends_(plan, first_, length_, core_begin_, core_end_) {
    std::copy_n(tile.begin, plan.axes, at_);
    if constexpr (std::is_same_v<Put, Assigned<T>>) {
      const index_t bytes = plan.extents[0] * plan.strides[0] * index_t{sizeof(T)};
      is_plain_ = !is_nonzero(put.alpha - T{1});
      past_cache_ = is_plain_ && bytes >= streamed_bytes && has_whole_lines();
    }
    for (int output = 0; output < plan.outputs; ++output) take_core_taps(output);
  }

  void run() {
    alignas(line_bytes) T values[row_size];
    with_taps(plan_.taps, [&](auto count) {
      do {
        const bool in_core = find_row();
        const index_t rows = in_core && count > 0 ? rows_together() : 1;
        for (int output = 0; output < plan_.outputs; ++output) {
          if (in_core) {
            put_rows(count, output, core_taps_[output], rows, values);
          } else {
            put_row_near_edge(output, values);
          }
        }
        if (rows > 1) at_[last_ - 1] += rows - 1;
      } while (advance());
    });
    if (past_cache_) end_streams();
  }

 private:
  /// Lines of the cache begin with an element, which those of complex numbers need not.
  bool has_whole_lines() const {
    return std::all_of(plan_.y, plan_.y + plan_.outputs, [](const T* y) {
      return reinterpret_cast<std::uintptr_t>(y) % sizeof(T) == 0;
    });
  }
  /// No other tap of the same output is further ahead in the same input.
  bool is_lead(int tap) const {
    const StencilTap<T>* const first = plan_.tap + tap / plan_.taps * plan_.taps;
    const StencilTap<T>& mine = plan_.tap[tap];
    return std::none_of(first, first + plan_.taps, [&](const StencilTap<T>& other) {
      return other.input == mine.input &&
             (other.shift > mine.shift || (other.shift == mine.shift && &other > &mine));
    });
  }
  /// Where the row begins, and whether it runs through the core.
  bool find_row() {
    number_ = 0;
    bool in_core = true;
    for (int axis = 0; axis < last_; ++axis) {
      number_ = number_ * plan_.extents[axis] + at_[axis];
      in_core = in_core && at_[axis] >= plan_.core_begin[axis] && at_[axis] < plan_.core_end[axis];
    }
    row_ = number_ * plan_.extents[last_] + first_;
    return in_core;
  }
  /// Short rows that stay in the cache follow one another in memory, and are taken as one. What
  /// comes out where they meet is replaced after that.
  index_t rows_together() const {
    if (!is_plain_ || past_cache_ || last_ == 0) return 1;
    if (length_ < plan_.extents[last_] || core_begin_ == core_end_) return 1;
    const int axis = last_ - 1;
    const index_t left = std::min(tile_.end[axis], plan_.core_end[axis]) - at_[axis];
    return std::clamp<index_t>(row_size / length_, 1, left);
  }
  template <class Count>
  void put_rows(Count count, int output, const Taps<T>& taps, index_t rows, T* values) const {
    T* const y = plan_.y[output] + row_;
    constexpr auto order = std::make_index_sequence<count>{};
    if constexpr (count > 0) {
      if (is_plain_) {
        const TapSum sum(order, taps, row_);
        if (past_cache_) {
          return put_past_cache(sum, Fetcher<T>(taps, row_), output, taps, values, y);
        }
        const index_t before = (rows - 1) * length_;  // the last of the rows
        sum_row(sum, reals(core_begin_), reals(before + core_end_), real(y));
        for (index_t r = 0; r < rows; ++r) {
          ends_.put(output, taps, row_ + r * length_, number_ + r, y + r * length_, put_);
        }
        return;
      }
    }
    T* const target = past_cache_ ? values : y;
    combine(order, taps, row_, core_begin_, core_end_, target, put_);
    ends_.put(output, taps, row_, number_, target, put_);
    if (past_cache_) copy_past_cache(values, length_, y);
  }
  [[gnu::noinline]] void put_row_near_edge(int output, T* values) const {
    Taps<T> taps;
    find_taps(output, taps);
    with_taps(taps.count, [&](auto count) { put_rows(count, output, taps, 1, values); });
  }
  /// Lines of the cache that are in the core are written from registers. Those at the ends of the
  /// row are put together in `values` before: a line that is written in part would be read first.
  template <class Sum, class Fetch>
  void put_past_cache(const Sum sum, const Fetch fetch, int output, const Taps<T>& taps, T* values,
                      T* y) const {
    constexpr index_t line = line_bytes / sizeof(T);
    const index_t begin =
        std::min(core_end_, core_begin_ + (line - beyond_line(y + core_begin_)) % line);
    const index_t end = std::max(begin, core_end_ - beyond_line(y + core_end_));
    sum_lines<Store::past_cache>(sum, fetch, reals(begin), reals(end), real(y));
    sum_few(sum, reals(core_begin_), reals(begin), real(values));
    sum_few(sum, reals(end), reals(core_end_), real(values));
    ends_.put(output, taps, row_, number_, values, put_);
    if (begin == end) return copy_past_cache(values, length_, y);
    copy_past_cache(values, begin, y);
    copy_past_cache(values + end, length_ - end, y + end);
  }
  /// Complex elements are pairs of reals, as weights are real.
  static index_t reals(index_t elements) {
    return elements * static_cast<index_t>(sizeof(T) / sizeof(RealOf<T>));
  }
  static RealOf<T>* real(T* y) { return reinterpret_cast<RealOf<T>*>(y); }

  void take_core_taps(int output) {
    Taps<T>& taps = core_taps_[output];
    for (int t = output * plan_.taps; t < (output + 1) * plan_.taps; ++t) {
      const StencilTap<T>& tap = plan_.tap[t];
      taps.add(tap.from, tap.weight);
      if (is_lead(t)) taps.lead[taps.leads++] = tap.from;
    }
    taps.across = plan_.across[output];
  }
  /// Of a row near an edge: in the same order, so that a cut across rows does not change a bit.
  void find_taps(int output, Taps<T>& taps) const {
    for (int t = 0; t < plan_.terms; ++t) {
      const StencilTerm<T>& term = plan_.term[t];
      if (term.output != output || term.axis == last_) continue;
      const RealOf<T>* weights = row_at(term, at_[term.axis]);
      for (int d = -stencil_reach; d <= stencil_reach; ++d) {
        const RealOf<T> weight = weights[d + stencil_reach];
        if (weight == 0) continue;
        taps.merge(neighbour(plan_, term, row_, at_[term.axis], d) - row_, weight);
      }
    }
    taps.across = taps.count;
    for (int t = output * plan_.taps + plan_.across[output]; t < (output + 1) * plan_.taps; ++t) {
      const StencilTap<T>& tap = plan_.tap[t];
      taps.add(tap.from, tap.weight);
    }
    taps.lead[taps.leads++] = plan_.tap[output * plan_.taps].from;
  }
  bool advance() {
    for (int axis = last_ - 1; axis >= 0; --axis) {
      if (++at_[axis] < tile_.end[axis]) return true;
      at_[axis] = tile_.begin[axis];
    }
    return false;
  }

  const StencilPlan<T>& plan_;
  const StencilBox& tile_;
  Put put_;
  int last_;
  index_t first_;
  index_t length_;
  index_t core_begin_;  // of a row, relative to first_
  index_t core_end_;
  RowEnds<T> ends_;
  Taps<T> core_taps_[max_dims];
  bool is_plain_ = false;  // y = sum, and nothing else
  bool past_cache_ = false;
  index_t at_[max_dims];
  index_t number_ = 0;  // of the row
  index_t row_ = 0;     // where it begins
};

template <class T, class Put>
void apply(Cpu, const StencilPlan<T>& plan, const StencilBox& box, Put put) {
  const int last = plan.axes - 1;
  index_t count = 1;
  for (int axis = 0; axis <= last; ++axis) count *= box.end[axis] - box.begin[axis];
  const int threads = detail::threads_for(count);
  index_t tile[max_dims];
  index_t tiles = 1;
  index_t size = 1;
  for (int axis = last; axis >= 0; --axis) {
    const index_t extent = box.end[axis] - box.begin[axis];
    const index_t limit = axis == last ? row_size
                          : axis > 0   ? std::max<index_t>(1, plane_size / size)
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
    RowLoop<T, Put>(plan, mine, put).run();
  });
}

}  // namespace weft::kernels
