#include "op/basic/rearrange.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/box_kernels.hpp"
#include "array/strides.hpp"
#include "op/scaling.hpp"

#include <algorithm>

namespace weft::detail {
namespace {

template <Scalar T>
class Rearrange final : public OperatorNode<T> {
 public:
  Rearrange(const Layout& domain, const Layout& range, const std::vector<std::vector<Run>>& runs)
      : OperatorNode<T>("rearrange", domain, range),
        domain_strides_(strides_of(domain.box().shape)),
        range_strides_(strides_of(range.box().shape)) {
    if (domain.local_count() == 0) return;
    pieces_.push_back({0, 0, domain.box().shape});
    for (int axis = 0; axis < domain.ndim(); ++axis)
      split(axis, runs[static_cast<std::size_t>(axis)]);
    for (const Piece& piece : pieces_) moved_ += piece.shape.count();
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    if (moved_ < y.local_count()) scale_first(y, update);
    dispatch(y.device(), [&](auto device) {
      for (const Piece& piece : pieces_) {
        kernels::axpby_box(device, piece.shape, kernel_value(update.alpha),
                           kernel_cast(x.data() + piece.from), domain_strides_,
                           kernel_value(update.beta), kernel_cast(y.data() + piece.to),
                           range_strides_);
      }
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    if (moved_ < x.local_count()) scale_first(x, update);
    dispatch(x.device(), [&](auto device) {
      for (const Piece& piece : pieces_) {
        kernels::axpby_box(device, piece.shape, kernel_value(update.alpha),
                           kernel_cast(y.data() + piece.to), range_strides_,
                           kernel_value(update.beta), kernel_cast(x.data() + piece.from),
                           domain_strides_);
      }
    });
  }
  Cost cost() const override {
    const index_t elements = moved_ + this->range().local_count();
    return {.bytes = sizeof(T) * static_cast<double>(elements)};
  }

 private:
  struct Piece {
    index_t from;
    index_t to;
    Shape shape;
  };

  void split(int axis, const std::vector<Run>& runs) {
    if (runs.empty()) return;
    std::vector<Piece> split;
    for (const Piece& piece : pieces_) {
      for (const Run& run : runs) {
        split.push_back({piece.from + run.from * domain_strides_[axis],
                         piece.to + run.to * range_strides_[axis],
                         piece.shape.with(axis, run.extent)});
      }
    }
    pieces_ = std::move(split);
  }
  /// For elements that no piece reaches; those that pieces reach are added to then.
  static void scale_first(const ArrayView<T>& y, Update<T>& update) {
    scale_or_clear(update.beta, y);
    if (update.beta != T{}) update.beta = T{1};
  }

  Index domain_strides_;
  Index range_strides_;
  std::vector<Piece> pieces_;
  index_t moved_ = 0;
};

}  // namespace

std::vector<Run> rotated(index_t n, index_t shift, index_t m) {
  const index_t kept = std::min(n, m);
  std::vector<Run> runs = {{shift, 0, std::min(n - shift, kept)}};
  if (kept > n - shift) runs.push_back({0, n - shift, kept - (n - shift)});
  return runs;
}

template <Scalar T>
LinearOperator<T> rearrange(const Layout& domain, const Layout& range,
                            const std::vector<std::vector<Run>>& runs) {
  const bool still = std::all_of(runs.begin(), runs.end(), [](const std::vector<Run>& of_axis) {
    return of_axis.empty() || (of_axis.size() == 1 && of_axis[0].from == of_axis[0].to);
  });
  if (still && domain == range) return identity<T>(domain);
  return make_operator<Rearrange<T>>(domain, range, runs);
}

#define INSTANTIATE(T)                                                  \
  template LinearOperator<T> rearrange<T>(const Layout&, const Layout&, \
                                          const std::vector<std::vector<Run>>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
