#include "demo/sections.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>

#include <utility>

namespace weft::app {
template <std::floating_point T>
Section section(const DistributedArray<T>& x, int axis, index_t at, bool transposed) {
  const Layout& layout = x.layout();
  const Shape& shape = layout.shape();
  require(shape.ndim() == 3, "section: the array must have three axes, got {}", to_string(shape));
  const int row_axis = axis == 0 ? 1 : 0;
  const int column_axis = axis == 2 ? 1 : 2;
  Section plane;
  plane.rows = shape[transposed ? column_axis : row_axis];
  plane.columns = shape[transposed ? row_axis : column_axis];
  plane.values.resize(static_cast<std::size_t>(plane.rows * plane.columns));

  const Box& box = layout.box();
  const std::vector<T> local = x.to_host();
  const LocalView<const T> view(local.data(), box.shape);
  if (!layout.is_replicated() || layout.comm().rank() == 0) {
    for (index_t i = 0; i < box.shape[0]; ++i) {
      for (index_t j = 0; j < box.shape[1]; ++j) {
        for (index_t k = 0; k < box.shape[2]; ++k) {
          const Index place{box.offset[0] + i, box.offset[1] + j, box.offset[2] + k};
          if (place[axis] != at) continue;
          const index_t row = place[transposed ? column_axis : row_axis];
          const index_t column = place[transposed ? row_axis : column_axis];
          plane.values[static_cast<std::size_t>(row * plane.columns + column)] =
              static_cast<double>(view(i, j, k));
        }
      }
    }
  }
  std::vector<double> sum(plane.values.size());
  layout.comm().reduce(plane.values, sum, ReduceOp::sum, 0);
  plane.values = std::move(sum);
  return plane;
}

template <std::floating_point T>
double relative_error(const DistributedArray<T>& x, const DistributedArray<T>& truth) {
  return norm(x - truth) / norm(truth);
}

ReportPicture picture_of(const std::string& caption, const Section& section,
                         const std::string& x_axis, const std::string& y_axis,
                         const PictureOptions& options) {
  return {.caption = caption,
          .values = section.values,
          .rows = section.rows,
          .columns = section.columns,
          .x_axis = x_axis,
          .y_axis = y_axis,
          .options = options,
          .x_range = {},
          .y_range = {}};
}

#define INSTANTIATE(T)                                                         \
  template Section section<T>(const DistributedArray<T>&, int, index_t, bool); \
  template double relative_error<T>(const DistributedArray<T>&, const DistributedArray<T>&);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::app
