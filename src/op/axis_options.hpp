#pragma once

// Checks of options that are lists of axes, or lists with a value per axis.

#include <weft/core/error.hpp>
#include <weft/core/shape.hpp>

#include <algorithm>
#include <vector>

namespace weft::detail {

/// The value for the i-th of `count` axes in a list of one value for all axes or one per axis.
template <class T>
T value_for_axis(const std::vector<T>& values, std::size_t i, std::size_t count, const char* what,
                 const char* who) {
  require(values.size() == 1 || values.size() == count,
          "{}: got {} values of {} for {} axes; pass one for all axes, or one per axis", who,
          values.size(), what, count);
  return values[values.size() == 1 ? 0 : i];
}

/// Axes counted from 0, which must be distinct.
inline std::vector<int> distinct_axes(std::vector<int> axes, int ndim, const char* who) {
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    *axis = normalize_axis(*axis, ndim, who);
    require(std::find(axes.begin(), axis, *axis) == axis, "{}: axis {} is given twice", who, *axis);
  }
  return axes;
}

}  // namespace weft::detail
