#include "op/wavelet/local_dwt.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/strides.hpp"
#include "op/axis_extents.hpp"
#include "op/wavelet/channel_bank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

/// Calls f(offset, shape) for boxes that together cover a box of extents `whole` except for its
/// first corner.
template <class F>
void for_each_slab(const Shape& whole, const Shape& corner, F f) {
  Shape shape = whole;
  for (int axis = 0; axis < whole.ndim(); ++axis) {
    if (corner[axis] < whole[axis]) {
      Index offset = Index::filled(whole.ndim(), 0);
      offset[axis] = corner[axis];
      const Shape slab = shape.with(axis, whole[axis] - corner[axis]);
      if (slab.count() > 0) f(offset, slab);
    }
    shape = shape.with(axis, corner[axis]);
  }
}

/// This rank's part of a corner of the global array.
Shape local_corner(const Box& box, const Shape& corner) {
  Shape shape = box.shape;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const index_t extent = std::clamp<index_t>(corner[axis] - box.offset[axis], 0, shape[axis]);
    shape = shape.with(axis, extent);
  }
  return shape;
}

/// An array whose first corner is read or written.
template <class T>
struct Target {
  T* data;
  Index strides;

  Target(T* at, const Shape& shape) : data(at), strides(strides_of(shape)) {}
  auto* from(const Index& offset) const {
    index_t sum = 0;
    for (int axis = 0; axis < offset.ndim(); ++axis) sum += strides[axis] * offset[axis];
    return kernel_cast(data + sum);
  }
};

template <Scalar T>
class LocalDwt final : public OperatorNode<T> {
  using K = KernelType<T>;

 public:
  LocalDwt(const Layout& layout, const Shape& corner, const std::vector<int>& axes, int levels,
           const WaveletFilters& filters)
      : OperatorNode<T>(fmt::format("dwt of axes ({}), {} levels", fmt::join(axes, ", "), levels),
                        layout, layout),
        axes_(axes),
        shape_(layout.box().shape),
        corner_(local_corner(layout.box(), corner)),
        scratch_{Buffer<T>(corner_.count(), layout.device()),
                 Buffer<T>(corner_.count(), layout.device())} {
    const std::vector<BankTerm> terms = decimated_bank(filters);
    Shape box = corner_;
    for (int number = 0; number < levels; ++number) {
      Level& level = levels_.emplace_back();
      level.box = box;
      for (const int axis : axes) {
        const index_t half = box[axis] / 2;
        level.analysis.emplace_back(terms, 2, 2, half, layout.device());
        level.synthesis.emplace_back(transposed(terms), 2, 2, half, layout.device());
        taps_ = std::max(taps_, level.analysis.back().taps());
        level.approximations = box = box.with(axis, half);
      }
    }
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    const Target<T> to(y.data(), shape_);
    copy_outside({x.data(), shape_}, to, update);
    if (corner_.count() == 0) return;
    const T* line = compact(corner_, {x.data(), shape_}, x.data());
    for (const Level& level : levels_) {
      for (std::size_t a = 0; a < axes_.size(); ++a) {
        line = split(level.analysis[a], level.box, axes_[a], line);
      }
      const Target<const T> split_box(line, level.box);
      if (&level == &levels_.back()) return put(level.box, split_box, to, update);
      for_each_slab(level.box, level.approximations, [&](const Index& offset, const Shape& slab) {
        put(slab, split_box, to, update, offset);
      });
      line = compact(level.approximations, split_box, line);
    }
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    const Target<const T> from(y.data(), shape_);
    copy_outside(from, {x.data(), shape_}, update);
    if (corner_.count() == 0) return;
    const T* line = compact(levels_.back().box, from, y.data());
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      if (level != levels_.rbegin()) line = join(*level, line, from);
      for (std::size_t a = axes_.size(); a-- > 0;) {
        line = merge(level->synthesis[a], level->box, axes_[a], line);
      }
    }
    put(corner_, {line, corner_}, {x.data(), shape_}, update);
  }
  Cost cost() const override {
    double elements = 0;  // of all passes
    for (const Level& level : levels_) {
      elements += static_cast<double>(level.box.count() * std::ssize(axes_));
    }
    const auto all = static_cast<double>(this->domain().local_count());
    return {.flops = elements * 4 * static_cast<double>(taps_) * (is_complex<T> ? 2 : 1),
            .bytes = sizeof(T) * (2 * elements + 2 * all)};
  }

 private:
  struct Level {
    Shape box;
    Shape approximations;
    std::vector<ChannelBank<T>> analysis;  // per axis
    std::vector<ChannelBank<T>> synthesis;
  };

  /// The scratch array that does not contain the line.
  T* spare(const T* line) const {
    return line == scratch_[0].data() ? scratch_[1].data() : scratch_[0].data();
  }
  /// to = alpha from + beta to for a box of elements at the same place in both.
  void put(const Shape& box, const Target<const T>& from, const Target<T>& to, Update<T> update,
           const Index& offset = {}) const {
    dispatch(this->domain().device(), [&](auto device) {
      kernels::axpby_box(device, box, kernel_value(update.alpha), from.from(offset), from.strides,
                         kernel_value(update.beta), to.from(offset), to.strides);
    });
  }
  void copy_outside(const Target<const T>& from, const Target<T>& to, Update<T> update) const {
    for_each_slab(shape_, corner_, [&](const Index& offset, const Shape& slab) {
      put(slab, from, to, update, offset);
    });
  }
  /// A copy of the first corner of an array in scratch memory that does not contain `line`; the
  /// array itself if it is its own corner.
  const T* compact(const Shape& corner, const Target<const T>& from, const T* line) const {
    if (from.strides == strides_of(corner)) return from.data;
    T* copy = spare(line);
    put(corner, from, {copy, corner}, {});
    return copy;
  }
  /// The box of a level, from its approximations and the details in y.
  const T* join(const Level& level, const T* line, const Target<const T>& y) const {
    const Target<T> box(spare(line), level.box);
    put(level.approximations, {line, level.approximations}, box, {});
    for_each_slab(level.box, level.approximations,
                  [&](const Index& offset, const Shape& slab) { put(slab, y, box, {}, offset); });
    return box.data;
  }
  /// Even and odd elements along an axis to approximations and details.
  const T* split(const ChannelBank<T>& bank, const Shape& box, int axis, const T* line) const {
    const AxisExtents of(box, axis);
    const index_t stride = of.n * of.inner;
    const index_t half = stride / 2;
    const K* x = kernel_cast(line);
    K* y = kernel_cast(spare(line));
    bank.template apply<2, 2>(
        of.outer, of.inner, {{x, stride, 2 * of.inner}, {x + of.inner, stride, 2 * of.inner}},
        {{y, stride, of.inner, K{1}, K{}}, {y + half, stride, of.inner, K{1}, K{}}});
    return spare(line);
  }
  /// The adjoint of split.
  const T* merge(const ChannelBank<T>& bank, const Shape& box, int axis, const T* line) const {
    const AxisExtents of(box, axis);
    const index_t stride = of.n * of.inner;
    const index_t half = stride / 2;
    const K* x = kernel_cast(line);
    K* y = kernel_cast(spare(line));
    bank.template apply<2, 2>(
        of.outer, of.inner, {{x, stride, of.inner}, {x + half, stride, of.inner}},
        {{y, stride, 2 * of.inner, K{1}, K{}}, {y + of.inner, stride, 2 * of.inner, K{1}, K{}}});
    return spare(line);
  }

  std::vector<int> axes_;
  Shape shape_;
  Shape corner_;
  std::vector<Level> levels_;
  index_t taps_ = 0;
  mutable Buffer<T> scratch_[2];
};

}  // namespace

template <Scalar T>
LinearOperator<T> local_dwt(const Layout& layout, const Shape& corner, const std::vector<int>& axes,
                            int levels, const WaveletFilters& filters) {
  return make_operator<LocalDwt<T>>(layout, corner, axes, levels, filters);
}

#define INSTANTIATE(T)                                                                          \
  template LinearOperator<T> local_dwt<T>(const Layout&, const Shape&, const std::vector<int>&, \
                                          int, const WaveletFilters&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
