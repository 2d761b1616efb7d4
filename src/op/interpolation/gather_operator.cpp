#include "op/interpolation/gather_operator.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "core/at.hpp"
#include "op/interpolation/gather_kernels.hpp"
#include "op/to_device.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

/// The domain or the range as an array [outer, n, inner], of which the ranks of a line have parts
/// along the middle.
struct LineSide {
  std::vector<index_t> splits;
  index_t outer;
  index_t n;  // on this rank
  index_t inner;

  LineSide(const Layout& layout, int axis, int merged)
      : outer(layout.box().shape.count(0, axis)),
        inner(layout.box().shape.count(axis + merged, layout.ndim())) {
    const index_t unit = layout.shape().count(axis + 1, axis + merged);
    if (layout.is_cut(axis)) {
      splits.assign(layout.splits(axis).begin(), layout.splits(axis).end());
    } else {
      splits = {0, layout.shape()[axis]};
    }
    for (index_t& split : splits) split *= unit;
    n = layout.box().shape[axis] * unit;
  }

  bool has(int place, index_t position) const {
    return position >= splits[at(place)] && position < splits[at(place) + 1];
  }
};

/// Forward or adjoint: this rank's rows of a matrix, and the exchange that they need.
template <Scalar T>
class GatherPass {
 public:
  GatherPass(Comm line, int place, const GatherMatrix& matrix, const LineSide& from,
             const LineSide& to, Device device)
      : line_(std::move(line)), from_(from), to_(to) {
    const auto ranks = static_cast<int>(from.splits.size()) - 1;
    std::vector<index_t> foreign;  // positions that this rank receives, in ascending order
    std::vector<index_t> sent;
    std::vector<index_t> sent_counts(at(ranks));
    std::vector<index_t> received_counts(at(ranks));
    for (int reader = 0; reader < ranks; ++reader) {
      for (const index_t position :
           matrix.columns_of(to.splits[at(reader)], to.splits[at(reader) + 1])) {
        if (from.has(reader, position)) continue;
        exchanges_ = true;
        if (reader == place) {
          foreign.push_back(position);
          ++received_counts[at(owner_of(from, position))];
        } else if (from.has(place, position)) {
          sent.push_back(position - from.splits[at(place)]);
          ++sent_counts[at(reader)];
        }
      }
    }
    set_rows(matrix.of_rows(to.splits[at(place)], to.splits[at(place) + 1]), place, foreign,
             device);
    if (!exchanges_) return;
    const index_t block = from.outer * from.inner;
    for (index_t& count : sent_counts) count *= block;
    for (index_t& count : received_counts) count *= block;
    sent_parts_ = Parts(std::move(sent_counts));
    received_parts_ = Parts(std::move(received_counts));
    sent_ = to_device<index_t>(sent, device);
    packed_ = Buffer<T>(sent_parts_.extent(), device);
    received_ = Buffer<T>(received_parts_.extent(), device);
  }

  void run(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) {
    if (exchanges_) {
      dispatch(x.device(), [&](auto device) {
        kernels::pack_positions(device, from_.outer, from_.n, from_.inner, sent_.size(),
                                sent_.data(), kernel_cast(x.data()), kernel_cast(packed_.data()));
      });
      line_.all_to_all_v(ConstBufferRef(packed_), sent_parts_, BufferRef(received_),
                         received_parts_);
    }
    dispatch(y.device(), [&](auto device) {
      kernels::gather_sums<decltype(device), KernelType<T>>(
          device, to_.outer, to_.n, to_.inner, columns_.size(),
          {begins_.data(), columns_.data(), weights_.data()}, kernel_value(update.alpha),
          {kernel_cast(x.data()), kernel_cast(std::as_const(received_).data()), from_.n},
          kernel_value(update.beta), kernel_cast(y.data()));
    });
  }

  Cost cost() const {
    const auto lines = static_cast<double>(to_.outer * to_.inner);
    const auto entries = static_cast<double>(columns_.size());
    const auto elements = static_cast<double>(from_.n + to_.n);
    return {.flops = lines * entries * (is_complex<T> ? 4 : 2),
            .bytes = lines * elements * sizeof(T) + entries * (sizeof(index_t) + sizeof(Real<T>)),
            .messages = exchanges_ ? 1.0 : 0.0};
  }

 private:
  static int owner_of(const LineSide& side, index_t position) {
    const auto next = std::upper_bound(side.splits.begin(), side.splits.end(), position);
    return static_cast<int>(next - side.splits.begin()) - 1;
  }
  /// Copies the rows to the device. Columns of other ranks are counted from n on.
  void set_rows(std::span<const GatherEntry> entries, int place,
                const std::vector<index_t>& foreign, Device device) {
    std::vector<index_t> begins(static_cast<std::size_t>(to_.n) + 1);
    std::vector<index_t> columns;
    std::vector<Real<T>> weights;
    for (const GatherEntry& entry : entries) {
      ++begins[static_cast<std::size_t>(entry.row - to_.splits[at(place)]) + 1];
      const auto received = std::lower_bound(foreign.begin(), foreign.end(), entry.column);
      columns.push_back(from_.has(place, entry.column) ? entry.column - from_.splits[at(place)]
                                                       : from_.n + (received - foreign.begin()));
      weights.push_back(static_cast<Real<T>>(entry.weight));
    }
    for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    begins_ = to_device<index_t>(begins, device);
    columns_ = to_device<index_t>(columns, device);
    weights_ = to_device<Real<T>>(weights, device);
  }

  Comm line_;
  LineSide from_;
  LineSide to_;
  bool exchanges_ = false;  // the same on all ranks of the line
  Parts sent_parts_;
  Parts received_parts_;
  Buffer<index_t> sent_;
  Buffer<T> packed_;
  Buffer<T> received_;
  Buffer<index_t> begins_;
  Buffer<index_t> columns_;
  Buffer<Real<T>> weights_;
};

template <Scalar T>
class GatherOperator final : public OperatorNode<T> {
 public:
  GatherOperator(const std::string& name, const Layout& domain, const Layout& range, int axis,
                 int merged, const GatherMatrix& matrix)
      : OperatorNode<T>(name, domain, range),
        forward_(domain.line_comm(axis), place_in_line(domain, axis), matrix,
                 {domain, axis, merged}, {range, axis, 1}, domain.device()),
        adjoint_(domain.line_comm(axis), place_in_line(domain, axis), matrix.transposed(),
                 {range, axis, 1}, {domain, axis, merged}, domain.device()) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    forward_.run(x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    adjoint_.run(y, x, update);
  }
  Cost cost() const override { return forward_.cost(); }
  Cost adjoint_cost() const override { return adjoint_.cost(); }

 private:
  static int place_in_line(const Layout& layout, int axis) {
    if (!layout.is_cut(axis)) return 0;
    return static_cast<int>(layout.coordinates(layout.comm().rank())[axis]);
  }

  mutable GatherPass<T> forward_;
  mutable GatherPass<T> adjoint_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> gather_operator(const std::string& name, const Layout& domain,
                                  const Layout& range, int axis, int merged,
                                  const GatherMatrix& matrix) {
  return make_operator<GatherOperator<T>>(name, domain, range, axis, merged, matrix);
}

#define INSTANTIATE(T)                                                                            \
  template LinearOperator<T> gather_operator<T>(const std::string&, const Layout&, const Layout&, \
                                                int, int, const GatherMatrix&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
