#pragma once

// The ends of rows, where a stencil is another one or reads ghost cells; for stencil_kernels.cpp
// only.

#include "op/stencil/stencil_tap_sums.hpp"

namespace weft::kernels {

/// The points of a row that are outside of the core. What they take along the row is looked up once
/// for all rows of a tile: from row to row, it is at the same distance.
template <class T>
class RowEnds {
 public:
  /// Of rows from `first` on along the last axis, so many elements long, and their core.
  RowEnds(const StencilPlan<T>& plan, index_t first, index_t length, index_t core_begin,
          index_t core_end)
      : plan_(plan), first_(first), length_(length), begin_(core_begin), end_(core_end) {
    if (core_begin + length - core_end > most_points) return;
    is_known_ = true;
    for (int output = 0; output < plan.outputs; ++output) {
      Point* point = points_[output];
      for (index_t k = 0; k < core_begin; ++k) is_known_ = is_known_ && find(output, k, *point++);
      for (index_t k = core_end; k < length; ++k) {
        is_known_ = is_known_ && find(output, k, *point++);
      }
    }
  }

  /// Those of row `number` of the part, which begins at `row`, with the taps across rows that all
  /// its points share.
  template <class Put>
  void put(int output, const Taps<T>& taps, index_t row, index_t number, T* y, Put put) const {
    const Point* point = points_[output];
    const auto put_at = [&](index_t k) {
      T sum{};
      for (int t = 0; t < taps.across; ++t) sum += taps.weight[t] * taps.from[t][row + k];
      if (is_known_) {
        for (int t = 0; t < point->count; ++t) {
          const Tap& tap = point->tap[t];
          sum += tap.weight * tap.from[number * tap.step];
        }
        ++point;
      } else {
        add_terms(output, row, k, sum);
      }
      put(sum, y[k]);
    };
    for (index_t k = 0; k < begin_; ++k) put_at(k);
    for (index_t k = end_; k < length_; ++k) put_at(k);
  }

 private:
  // Of either end; stencils with more are taken as they come.
  static constexpr index_t most_points = 2 * stencil_width;

  struct Tap {
    const T* from;  // in row 0
    index_t step;   // to the next row
    RealOf<T> weight;
  };
  struct Point {
    int count;
    Tap tap[stencil_width];
  };

  /// False if there is more to it than one term.
  bool find(int output, index_t k, Point& point) const {
    const int last = plan_.axes - 1;
    point.count = 0;
    bool is_first = true;
    for (int t = plan_.terms - 1; t >= 0 && plan_.term[t].axis == last; --t) {
      const StencilTerm<T>& term = plan_.term[t];
      if (term.output != output) continue;
      if (!std::exchange(is_first, false)) return false;
      const index_t i = first_ + k;
      const RealOf<T>* weights = row_at(term, i);
      for (int d = -stencil_reach; d <= stencil_reach; ++d) {
        const RealOf<T> weight = weights[d + stencil_reach];
        if (weight == 0) continue;
        const index_t step = i + d < 0                     ? term.before_width
                             : i + d < plan_.extents[last] ? plan_.extents[last]
                                                           : term.after_width;
        point.tap[point.count++] = {neighbour(plan_, term, i, i, d), step, weight};
      }
    }
    return true;
  }
  void add_terms(int output, index_t row, index_t k, T& sum) const {
    for (int t = plan_.terms - 1; t >= 0 && plan_.term[t].axis == plan_.axes - 1; --t) {
      const StencilTerm<T>& term = plan_.term[t];
      if (term.output == output) add_term(plan_, term, row + k, first_ + k, sum);
    }
  }

  const StencilPlan<T>& plan_;
  index_t first_;
  index_t length_;
  index_t begin_;  // of the core
  index_t end_;
  bool is_known_ = false;
  Point points_[max_dims][most_points];
};

}  // namespace weft::kernels
