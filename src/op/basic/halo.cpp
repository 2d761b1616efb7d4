#include <weft/op/basic/halo.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/halo_plan.hpp"
#include "array/plan_agreement.hpp"
#include "array/strides.hpp"
#include "array/vector_kernels.hpp"
#include "core/at.hpp"

#include <algorithm>

namespace weft {

using detail::at;

namespace {

template <Scalar T>
class Halo final : public OperatorNode<T> {
 public:
  Halo(const Layout& domain, const Layout& range, const std::vector<AxisPadding>& widths,
       const HaloOperatorOptions& options)
      : OperatorNode<T>("halo", domain, range),
        trim_(options.trim),
        exchange_(domain, widths, {.boundary = options.boundary}) {
    if (domain.local_count() == 0) return;
    const Box& box = domain.box();
    // This rank's part of the range, in coordinates of the extended part before trimming.
    Box extended{Index::filled(domain.ndim(), 0), range.box().shape};
    for (int axis = 0; axis < domain.ndim(); ++axis) {
      const index_t before = widths[at(axis)].before;
      if (trim_) extended.offset[axis] = before - std::min(before, box.offset[axis]);
    }
    Index origin = extended.offset;
    for (int axis = 0; axis < domain.ndim(); ++axis) origin[axis] = widths[at(axis)].before;
    add_piece({origin, box.shape}, extended, nullptr);
    for (int axis = 0; axis < domain.ndim(); ++axis) {
      for (const Side side : {Side::before, Side::after}) {
        // Ghost cells of an axis include corners: they extend over those of earlier axes.
        Index corner = origin;
        for (int earlier = 0; earlier < axis; ++earlier) corner[earlier] = 0;
        corner[axis] = side == Side::before ? 0 : origin[axis] + box.shape[axis];
        ghost_counts_.push_back(exchange_.ghost_shape(axis, side).count());
        ghosts_.push_back(exchange_.ghosts(axis, side));
        add_piece({corner, exchange_.ghost_shape(axis, side)}, extended, ghosts_.back());
      }
    }
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    exchange_.run(x);
    for (const Piece& piece : pieces_) {
      const T* from = piece.ghosts == nullptr ? x.data() : piece.ghosts;
      axpby_piece(piece.shape, from + piece.offset, piece.strides, y.data() + piece.range_offset,
                  range_strides(), update);
    }
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    if (trim_) clear_ghosts();
    for (const Piece& piece : pieces_) {
      T* to = piece.ghosts == nullptr ? x.data() : piece.ghosts;
      const Update<T> into = piece.ghosts == nullptr ? update : Update<T>{update.alpha};
      axpby_piece(piece.shape, y.data() + piece.range_offset, range_strides(), to + piece.offset,
                  piece.strides, into);
    }
    exchange_.run_adjoint(x);
  }
  Cost cost() const override {
    const auto elements = this->domain().local_count() + this->range().local_count();
    return {.bytes = sizeof(T) * static_cast<double>(elements),
            .messages = static_cast<double>(exchange_.message_count())};
  }

 private:
  /// A region of the extended part, which is copied from the array or from ghost cells.
  struct Piece {
    Shape shape;
    T* ghosts;  // or null for the array
    index_t offset;
    Index strides;
    index_t range_offset;
  };

  /// Both boxes are in coordinates of the extended part before trimming.
  void add_piece(const Box& region, const Box& extended, T* ghosts) {
    const Box common = intersect(region, extended);
    if (common.shape.count() == 0) return;
    pieces_.push_back({common.shape, ghosts, detail::offset_in(region, common.offset),
                       detail::strides_of(region.shape),
                       detail::offset_in(extended, common.offset)});
  }
  Index range_strides() const { return detail::strides_of(this->range().box().shape); }

  /// to = alpha from + beta to
  void axpby_piece(const Shape& shape, const T* from, const Index& from_strides, T* to,
                   const Index& to_strides, Update<T> update) const {
    dispatch(this->domain().device(), [&](auto device) {
      kernels::axpby_box(device, shape, kernel_value(update.alpha), kernel_cast(from), from_strides,
                         kernel_value(update.beta), kernel_cast(to), to_strides);
    });
  }
  void clear_ghosts() const {
    dispatch(this->domain().device(), [&](auto device) {
      for (std::size_t i = 0; i < ghosts_.size(); ++i) {
        kernels::fill(device, ghost_counts_[i], KernelType<T>{}, kernel_cast(ghosts_[i]));
      }
    });
  }

  bool trim_;
  mutable HaloExchange<T> exchange_;
  std::vector<Piece> pieces_;
  std::vector<T*> ghosts_;
  std::vector<index_t> ghost_counts_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> halo(const Layout& layout, const std::vector<AxisPadding>& widths,
                       const HaloOperatorOptions& options) {
  const std::string text = detail::text_of(widths, {.boundary = options.boundary});
  detail::agree_on_plan("halo", {&layout}, dtype_of<T>, text + (options.trim ? ", trim" : ""));
  detail::check_halo(layout.shape(), widths, options.boundary, "halo");
  require(!options.trim || options.boundary == Boundary::zero,
          "halo: trim requires Boundary::zero, since only zeros can be left out");
  Layout range = layout;
  for (int axis = 0; axis < layout.ndim(); ++axis) {
    const AxisPadding width = widths[at(axis)];
    const index_t n = layout.shape()[axis];
    range = recut(range, axis, [&](std::span<const index_t> splits) {
      std::vector<index_t> extended = {0};
      for (std::size_t place = 0; place + 1 < splits.size(); ++place) {
        const index_t begin = splits[place];
        const index_t end = splits[place + 1];
        index_t extent = end - begin;
        if (extent > 0) {
          extent += options.trim ? std::min(width.before, begin) : width.before;
          extent += options.trim ? std::min(width.after, n - end) : width.after;
        }
        extended.push_back(extended.back() + extent);
      }
      return extended;
    });
  }
  return make_operator<Halo<T>>(layout, range, widths, options);
}

#define INSTANTIATE(T)                                                               \
  template LinearOperator<T> halo<T>(const Layout&, const std::vector<AxisPadding>&, \
                                     const HaloOperatorOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
