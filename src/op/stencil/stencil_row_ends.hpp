#pragma once

// The ends of rows on the CPU, where coefficients differ or ghost cells are read; used by
// stencil_cpu.hpp.

#include "op/stencil/stencil_tap_sums.hpp"

namespace weft::kernels {

/// Computes the points of a row outside the core. Their taps along the row are looked up once for
/// all rows of a tile, since they have the same coefficients and a constant step in every row.
template <class T>
class RowEnds {
 public:
  /// For rows of `length` elements that begin at `first` along the last axis. [core_begin,
  /// core_end) is the part of a row in the core, relative to `first`.
  RowEnds(const StencilPlan<T>& plan, index_t first, index_t length, index_t core_begin,
          index_t core_end)
      : plan_(plan), first_(first), length_(length), begin_(core_begin), end_(core_end) {
    is_narrow_ = find_all(narrow_);
    is_wide_ = !is_narrow_ && find_all(wide_);
  }

  /// Computes the ends of row `number` of the part, which begins at offset `row`. `taps` holds the
  /// taps across rows, which all points of the row share.
  template <class Update>
  void compute(int output, const Taps<T>& taps, index_t row, index_t number, T* y,
               Update update) const {
    if (is_wide_) return compute_wide(output, taps, row, number, y, update);
    compute_points(is_narrow_ ? narrow_[output] : nullptr, output, taps, row, number, y, update);
  }

 private:
  struct Tap {
    const T* from;  // in row 0
    index_t step;   // from a row to the next
    RealOf<T> weight;
  };
  /// A point with taps of one term along the row, which reaches no further than `reach`. Loops over
  /// few taps are unrolled.
  template <int reach>
  struct Point {
    static constexpr int max_reach = reach;
    int count;
    Tap tap[2 * reach + 1];
  };
  /// With more points at the ends, taps are looked up for every point.
  template <int reach>
  using Points = Point<reach>[max_dims][2 * (2 * reach + 1)];

  /// Looks up the taps of all points; false if there are too many.
  template <class Point, std::size_t size>
  bool find_all(Point (&points)[max_dims][size]) const {
    if (begin_ + length_ - end_ > static_cast<index_t>(size)) return false;
    for (int output = 0; output < plan_.outputs; ++output) {
      Point* point = points[output];
      for (index_t k = 0; k < begin_; ++k) {
        if (!find(output, k, *point++)) return false;
      }
      for (index_t k = end_; k < length_; ++k) {
        if (!find(output, k, *point++)) return false;
      }
    }
    return true;
  }
  /// Looks up the taps of a point; false if it has more than one term along the row, or a wider
  /// one.
  template <class Point>
  bool find(int output, index_t k, Point& point) const {
    const int last = plan_.axes - 1;
    point.count = 0;
    bool is_first = true;
    for (int t = plan_.terms - 1; t >= 0 && plan_.term[t].axis == last; --t) {
      const StencilTerm<T>& term = plan_.term[t];
      if (term.output != output) continue;
      if (!std::exchange(is_first, false) || term.reach > Point::max_reach) return false;
      const index_t i = first_ + k;
      const RealOf<T>* weights = row_at(term, i);
      for (int d = -term.reach; d <= term.reach; ++d) {
        const RealOf<T> weight = weights[d];
        if (weight == 0) continue;
        const index_t step = i + d < 0                     ? term.before_width
                             : i + d < plan_.extents[last] ? plan_.extents[last]
                                                           : term.after_width;
        point.tap[point.count++] = {neighbour(plan_, term, i, i, d), step, weight};
      }
    }
    return true;
  }

  template <class Update>
  [[gnu::noinline]] void compute_wide(int output, const Taps<T>& taps, index_t row, index_t number,
                                      T* y, Update update) const {
    compute_points(wide_[output], output, taps, row, number, y, update);
  }
  /// Computes the ends of a row from their taps, or looks these up if `point` is null.
  template <class Point, class Update>
  [[gnu::always_inline]] void compute_points(const Point* point, int output, const Taps<T>& taps,
                                             index_t row, index_t number, T* y,
                                             Update update) const {
    const auto compute_at = [&](index_t k) {
      T sum{};
      for (int t = 0; t < taps.across; ++t) sum += taps.weight[t] * taps.from[t][row + k];
      if (point != nullptr) {
        for (int t = 0; t < point->count; ++t) {
          const Tap& tap = point->tap[t];
          sum += tap.weight * tap.from[number * tap.step];
        }
        ++point;
      } else {
        add_terms(output, row, k, sum);
      }
      update(sum, y[k]);
    };
    for (index_t k = 0; k < begin_; ++k) compute_at(k);
    for (index_t k = end_; k < length_; ++k) compute_at(k);
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
  // The taps of the points at the ends; at most one of both is set.
  bool is_narrow_;
  bool is_wide_;
  Points<narrow_reach> narrow_;
  Points<stencil_reach> wide_;
};

}  // namespace weft::kernels
