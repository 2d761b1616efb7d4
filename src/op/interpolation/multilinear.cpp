#include "op/interpolation/multilinear.hpp"

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/redistribute.hpp>

#include "array/plan_agreement.hpp"
#include "op/axis_layout.hpp"
#include "op/interpolation/gather_operator.hpp"

#include <fmt/core.h>

namespace weft::detail {
namespace {

/// Row i has the samples at the corners of the cell around position i.
GatherMatrix corner_matrix(const Shape& shape, std::span<const double> positions, int axes) {
  const auto coordinates = static_cast<std::size_t>(axes);
  GatherMatrix matrix{
      static_cast<index_t>(positions.size() / coordinates), shape.count(0, axes), {}};
  for (index_t row = 0; row < matrix.rows; ++row) {
    for (unsigned corner = 0; corner < 1U << coordinates; ++corner) {
      GatherEntry entry{row, 0, 1};
      for (int axis = 0; axis < axes; ++axis) {
        const double position =
            positions[static_cast<std::size_t>(row) * coordinates + static_cast<std::size_t>(axis)];
        const auto [before, fraction] = bracket(position, shape[axis]);
        const bool after = (corner >> (axes - 1 - axis) & 1U) != 0;
        entry.column = entry.column * shape[axis] + before + (after ? 1 : 0);
        entry.weight *= after ? fraction : 1 - fraction;
      }
      if (entry.weight != 0) matrix.entries.push_back(entry);
    }
  }
  return matrix;
}

/// A layout of the same ranks and groups in which only the first of the axes may be distributed.
Layout with_whole_axes(const Layout& layout, int axes) {
  bool is_whole = true;
  for (int axis = 1; axis < axes; ++axis) is_whole = is_whole && !layout.is_cut_anywhere(axis);
  if (is_whole) return layout;
  const Layout rows = Layout::scatter(layout.comm(), layout.shape(), 0);
  if (!layout.is_within_groups()) return rows.on(layout.device());
  std::vector<int> groups;
  for (int rank = 0; rank < layout.comm().size(); ++rank) groups.push_back(layout.group(rank));
  return rows.within(groups).on(layout.device());
}

}  // namespace

template <Scalar T>
LinearOperator<T> multilinear(const Layout& layout, std::span<const double> positions, int axes,
                              const char* who) {
  agree_on_plan(who, {&layout}, dtype_of<T>, text_of_positions(positions));
  require(layout.ndim() >= axes, "{}: got an array of {} axes, needs at least {}", who,
          layout.ndim(), axes);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const int axis = static_cast<int>(i) % axes;
    require_position(positions[i], layout.shape()[axis], axis, who);
  }
  const Layout domain = with_whole_axes(layout, axes);
  const GatherMatrix matrix = corner_matrix(layout.shape(), positions, axes);
  Layout range = domain;
  for (int axis = 1; axis < axes; ++axis) range = without_axis(range, 1);
  range = resize_axis(range, 0, matrix.rows);
  const auto gather =
      gather_operator<T>(fmt::format("{} interpolation", who), domain, range, 0, axes, matrix);
  return gather * redistribute<T>(layout, domain);
}

#define INSTANTIATE(T)                                                                   \
  template LinearOperator<T> multilinear<T>(const Layout&, std::span<const double>, int, \
                                            const char*);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
