#include <weft/array/roll.hpp>

#include <fmt/core.h>

#include "array/flat_exchange.hpp"
#include "array/plan_agreement.hpp"

#include <algorithm>
#include <string>

namespace weft {
namespace {

/// The runs of a rank's part, numbered by their positions in the rolled array. `shift` is in [0,
/// n).
std::vector<detail::FlatRun> rolled_runs(const Layout& layout, int rank, int axis, index_t shift) {
  const Box& box = layout.box(rank);
  const index_t wrap = layout.shape()[axis] - shift;  // elements from here on move to the front
  Box back = box;
  back.shape =
      box.shape.with(axis, std::clamp<index_t>(wrap - box.offset[axis], 0, box.shape[axis]));
  Box front = box;
  front.offset[axis] = back.end(axis);
  front.shape = box.shape.with(axis, box.shape[axis] - back.shape[axis]);

  std::vector<detail::FlatRun> runs;
  Index by = Index::filled(layout.ndim(), 0);
  by[axis] = shift;
  detail::add_flat_runs(back, by, box, layout.shape(), runs);
  by[axis] = -wrap;
  detail::add_flat_runs(front, by, box, layout.shape(), runs);
  std::sort(runs.begin(), runs.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return runs;
}

}  // namespace

template <Scalar T>
DistributedArray<T> roll(const ConstArrayView<T>& x, index_t shift, int axis) {
  const Layout& layout = x.layout();
  detail::agree_on_plan("roll", {&layout}, dtype_of<T>,
                        fmt::format("shift {} along axis {}", shift, axis));
  axis = normalize_axis(axis, layout.ndim(), "roll");
  const index_t n = std::max<index_t>(1, layout.shape()[axis]);
  shift = (shift % n + n) % n;
  DistributedArray<T> y(layout, uninitialized);
  detail::FlatExchange<T>(
      layout, layout, [&](int rank) { return rolled_runs(layout, rank, axis, shift); },
      [&](int rank) { return detail::flat_runs(layout, rank); })
      .run(x, y, T{1}, T{});
  return y;
}

#define INSTANTIATE(T) template DistributedArray<T> roll(const ConstArrayView<T>&, index_t, int);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
