#include "op/convolution/padded_input.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/strides.hpp"
#include "core/at.hpp"

#include <algorithm>

namespace weft::detail {

template <Scalar T>
PaddedInput<T>::PaddedInput(const Layout& layout, const std::vector<AxisPadding>& widths)
    : shape_(layout.box().shape) {
  const auto is_zero = [](const AxisPadding& width) { return width == AxisPadding{}; };
  if (std::all_of(widths.begin(), widths.end(), is_zero)) return;
  const bool is_empty = layout.local_count() == 0;
  Index origin = layout.box().offset;
  for (int axis = 0; axis < layout.ndim(); ++axis) {
    const AxisPadding& width = widths[at(axis)];
    origin[axis] = width.before;
    shape_ = shape_.with(axis, is_empty ? 0 : shape_[axis] + width.before + width.after);
  }
  if (!is_empty) {
    padded_.emplace(Layout::local(shape_).on(layout.device()));
    pieces_.push_back({layout.box().shape, nullptr, offset_at(strides_of(shape_), origin)});
  }
  add_ghosts(layout, widths);
}

template <Scalar T>
void PaddedInput<T>::add_ghosts(const Layout& layout, const std::vector<AxisPadding>& widths) {
  std::vector<AxisPadding> exchanged(widths.size());
  bool is_distributed = false;
  for (int axis = 0; axis < layout.ndim(); ++axis) {
    if (!layout.is_cut_anywhere(axis) || widths[at(axis)] == AxisPadding{}) continue;
    exchanged[at(axis)] = widths[at(axis)];
    is_distributed = true;
  }
  if (!is_distributed) return;
  exchange_.emplace(layout, exchanged);
  if (layout.local_count() == 0) return;
  // Ghost cells of an axis include corners: they extend over those of earlier axes.
  Index corner = layout.box().offset;
  for (int axis = 0; axis < layout.ndim(); ++axis) corner[axis] = widths[at(axis)].before;
  for (int axis = 0; axis < layout.ndim(); ++axis) {
    const index_t first = corner[axis];
    for (const Side side : {Side::before, Side::after}) {
      const Shape& shape = exchange_->ghost_shape(axis, side);
      corner[axis] = side == Side::before ? first - exchanged[at(axis)].before
                                          : first + layout.box().shape[axis];
      if (shape.count() == 0) continue;
      const HaloExchange<T>& halo = *exchange_;
      pieces_.push_back({shape, halo.ghosts(axis, side), offset_at(strides_of(shape_), corner)});
    }
    corner[axis] = first - exchanged[at(axis)].before;
  }
}

template <Scalar T>
const T* PaddedInput<T>::fill(const ConstArrayView<T>& x) {
  if (exchange_) exchange_->run(x);
  if (!padded_) return x.data();
  const Index strides = strides_of(shape_);
  dispatch(x.device(), [&](auto device) {
    for (const Piece& piece : pieces_) {
      const T* from = piece.ghosts == nullptr ? x.data() : piece.ghosts;
      kernels::copy_box(device, piece.shape, kernel_cast(from), strides_of(piece.shape),
                        kernel_cast(padded_->data()) + piece.offset, strides);
    }
  });
  return padded_->data();
}

template <Scalar T>
Cost PaddedInput<T>::cost() const {
  double copied = 0;
  for (const Piece& piece : pieces_) copied += static_cast<double>(piece.shape.count());
  return {.bytes = 2 * copied * sizeof(T),
          .messages = exchange_ ? static_cast<double>(exchange_->message_count()) : 0};
}

#define INSTANTIATE(T) template class PaddedInput<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
