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
    for (const Piece& piece : pieces_) copied_ += piece.shape.count();
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    if (copied_ < y.local_count()) prescale(y, update);
    axpby_pieces(x.data(), &Piece::from, domain_strides_, y.data(), &Piece::to, range_strides_,
                 update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    if (copied_ < x.local_count()) prescale(x, update);
    axpby_pieces(y.data(), &Piece::to, range_strides_, x.data(), &Piece::from, domain_strides_,
                 update);
  }
  Cost cost() const override {
    const index_t elements = copied_ + this->range().local_count();
    return {.bytes = sizeof(T) * static_cast<double>(elements)};
  }

 private:
  /// A box that is copied as a whole.
  struct Piece {
    index_t from;  // offset in this rank's part of the domain
    index_t to;    // offset in its part of the range
    Shape shape;
  };

  /// out = alpha in + beta out, piece by piece.
  void axpby_pieces(const T* in, index_t Piece::*in_offset, const Index& in_strides, T* out,
                    index_t Piece::*out_offset, const Index& out_strides, Update<T> update) const {
    dispatch(this->domain().device(), [&](auto device) {
      for (const Piece& piece : pieces_) {
        kernels::axpby_box(device, piece.shape, kernel_value(update.alpha),
                           kernel_cast(in + piece.*in_offset), in_strides,
                           kernel_value(update.beta), kernel_cast(out + piece.*out_offset),
                           out_strides);
      }
    });
  }
  /// Splits all pieces along an axis into runs.
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
  /// y = beta y, for elements that no piece covers. Pieces are then added with beta = 1.
  static void prescale(const ArrayView<T>& y, Update<T>& update) {
    scale_or_clear(update.beta, y);
    if (update.beta != T{}) update.beta = T{1};
  }

  Index domain_strides_;
  Index range_strides_;
  std::vector<Piece> pieces_;
  index_t copied_ = 0;
};

}  // namespace

std::vector<Run> rotation(index_t n, index_t shift, index_t m) {
  const index_t kept = std::min(n, m);
  std::vector<Run> runs = {{shift, 0, std::min(n - shift, kept)}};
  if (kept > n - shift) runs.push_back({0, n - shift, kept - (n - shift)});
  return runs;
}

template <Scalar T>
LinearOperator<T> rearrange(const Layout& domain, const Layout& range,
                            const std::vector<std::vector<Run>>& runs) {
  const bool is_identity =
      std::all_of(runs.begin(), runs.end(), [](const std::vector<Run>& along_axis) {
        return along_axis.empty() ||
               (along_axis.size() == 1 && along_axis[0].from == along_axis[0].to);
      });
  if (is_identity && domain == range) return identity<T>(domain);
  return make_operator<Rearrange<T>>(domain, range, runs);
}

#define INSTANTIATE(T)                                                  \
  template LinearOperator<T> rearrange<T>(const Layout&, const Layout&, \
                                          const std::vector<std::vector<Run>>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
