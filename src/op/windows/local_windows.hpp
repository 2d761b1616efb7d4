#pragma once

// The windows of this rank in the terms of the kernels.

#include <weft/core/scalars.hpp>
#include <weft/op/windows/window_design.hpp>

#include "array/strides.hpp"
#include "op/to_device.hpp"
#include "op/windows/window_kernels.hpp"
#include "op/windows/window_plan.hpp"

#include <algorithm>
#include <vector>

namespace weft::detail {

/// The factors of this rank's windows, in the order of its model.
inline std::vector<double> scalings_of(const WindowPlan& plan,
                                       const std::vector<double>& scalings) {
  Index total = Index::filled(static_cast<int>(plan.windows().size()), 0);
  Index first = total;
  Index count = total;
  for (int entry = 0; entry < total.ndim(); ++entry) {
    const Interval mine = plan.mine(entry);
    total[entry] = plan.windows()[static_cast<std::size_t>(entry)].total;
    first[entry] = mine.begin;
    count[entry] = mine.length();
  }
  const Shape local(count);
  std::vector<double> result(static_cast<std::size_t>(local.count()), 1.0);
  if (scalings.empty()) return result;
  Index at = Index::filled(total.ndim(), 0);
  for (double& factor : result) {
    Index number = at;
    for (int entry = 0; entry < total.ndim(); ++entry) number[entry] += first[entry];
    factor = scalings[static_cast<std::size_t>(linear(Shape(total), number))];
    advance(local, at);
  }
  return result;
}

/// Axes of the data, where neighbouring axes without windows count as one, and the weights of the
/// windows along them. The plan must outlive this object.
template <Scalar R>
class LocalWindows {
 public:
  using W = Real<R>;

  LocalWindows(const WindowPlan& plan, Taper taper) : plan_(plan) {
    const Shape& shape = plan.data().shape();
    for (int axis = 0; axis < shape.ndim(); ++axis) add_axis(axis);
    // From the last axis to the first: the elements of a window, then the windows.
    index_t stride = 1;
    for (int i = grid_.ndim - 1; i >= 0; --i) {
      grid_.axes[i].element_stride = stride;
      stride *= grid_.axes[i].window;
    }
    window_count_ = stride;
    for (int entry = static_cast<int>(plan.windows().size()) - 1; entry >= 0; --entry) {
      kernels::WindowAxis<W>& axis = grid_.axes[place_of(entry)];
      axis.window_stride = stride;
      stride *= axis.count;
    }
    count_ = stride;
    set_weights(taper);
  }

  /// Elements of a window, and of all windows of this rank.
  index_t window_count() const { return window_count_; }
  index_t count() const { return count_; }
  const kernels::WindowGrid<W>& grid() const { return grid_; }

  /// A region of the data in memory of its own: positions from `begin` on along the distributed
  /// axis, and all positions along the others.
  template <class T>
  kernels::DataBox<T> box(T* data, const Shape& shape, index_t begin) const {
    kernels::DataBox<T> box{.data = data};
    const Index strides = strides_of(shape);
    for (int i = 0; i < grid_.ndim; ++i) {
      box.extent[i] = shape.count(axes_[i].first, axes_[i].last + 1);
      box.stride[i] = strides[axes_[i].last];
    }
    if (plan_.distributed() >= 0) box.begin[place_of(plan_.distributed())] = begin;
    return box;
  }

 private:
  /// Axes of the data, from the first to the last, that are one axis of the kernels.
  struct Axes {
    int first = 0;
    int last = 0;
    int entry = -1;  // of windows(); -1 for none
  };

  void add_axis(int axis) {
    const std::vector<WindowsAlong>& windows = plan_.windows();
    const index_t n = plan_.data().shape()[axis];
    int entry = static_cast<int>(windows.size()) - 1;
    while (entry >= 0 && windows[static_cast<std::size_t>(entry)].axis != axis) --entry;
    if (entry < 0 && grid_.ndim > 0 && axes_[grid_.ndim - 1].entry < 0) {
      axes_[grid_.ndim - 1].last = axis;
      kernels::WindowAxis<W>& merged = grid_.axes[grid_.ndim - 1];
      merged.window *= n;
      merged.step = std::max<index_t>(merged.window, 1);
      return;
    }
    axes_[grid_.ndim] = {axis, axis, entry};
    kernels::WindowAxis<W>& added = grid_.axes[grid_.ndim++];
    if (entry < 0) {
      added.window = n;
      added.step = std::max<index_t>(n, 1);
      return;
    }
    const WindowsAlong& along = windows[static_cast<std::size_t>(entry)];
    const Interval mine = plan_.mine(entry);
    added.window = along.window;
    added.step = along.step();
    added.first = mine.begin;
    added.count = mine.length();
    added.total = along.total;
  }
  int place_of(int entry) const {
    int place = 0;
    while (axes_[place].entry != entry) ++place;
    return place;
  }
  /// The weights of windows between others, at the beginning, at the end, and at both.
  void set_weights(Taper taper) {
    if (taper == Taper::none) return;
    std::vector<W> all;
    for (const WindowsAlong& along : plan_.windows()) {
      const std::vector<double> weights = taper_weights(along.window, along.overlap, taper);
      for (int variant = 0; variant < 4; ++variant) {
        for (index_t k = 0; k < along.window; ++k) {
          const bool is_end = (variant % 2 == 1 && k < along.overlap) ||
                              (variant / 2 == 1 && k >= along.window - along.overlap);
          all.push_back(is_end ? W{1} : static_cast<W>(weights[static_cast<std::size_t>(k)]));
        }
      }
    }
    weights_ = to_device<W>(all, plan_.data().device());
    const W* next = weights_.data();
    for (std::size_t entry = 0; entry < plan_.windows().size(); ++entry) {
      grid_.axes[place_of(static_cast<int>(entry))].weights = next;
      next += 4 * plan_.windows()[entry].window;
    }
  }

  const WindowPlan& plan_;
  kernels::WindowGrid<W> grid_;
  Axes axes_[max_dims];
  index_t window_count_ = 1;
  index_t count_ = 1;
  Buffer<W> weights_;
};

}  // namespace weft::detail
