#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/strides.hpp"
#include "core/at.hpp"
#include "op/convolution/grid_filter.hpp"
#include "op/convolution/grid_filter_kernels.hpp"
#include "op/convolution/padded_input.hpp"
#include "op/scaling.hpp"
#include "op/to_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace weft::detail {
namespace {

/// Forward or adjoint: y[i] = sum over t of c[t] x[i + position of t].
template <Scalar T>
class GridPass {
 public:
  GridPass(std::shared_ptr<PaddedInput<T>> input, const Layout& layout, int row_axis,
           const std::vector<Index>& positions, const std::vector<T>& coefficients)
      : input_(std::move(input)),
        rows_(padded_rows(layout.box().shape, input_->shape(), row_axis)),
        coefficients_(to_device<T>(coefficients, layout.device())) {
    const Index strides = strides_of(input_->shape());
    std::vector<index_t> shifts;
    for (const Index& position : positions) shifts.push_back(offset_at(strides, position));
    shifts_ = to_device<index_t>(shifts, layout.device());
  }

  void apply(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const {
    const T* in = input_->fill(x);
    dispatch(y.device(), [&](auto device) {
      kernels::apply_grid_filter(device, rows_, shifts_.size(), shifts_.data(),
                                 kernel_cast(coefficients_.data()), kernel_value(update.alpha),
                                 kernel_cast(in), kernel_value(update.beta), kernel_cast(y.data()));
    });
  }
  Cost cost() const {
    const auto elements = static_cast<double>(rows_.count * rows_.length);
    const auto taps = static_cast<double>(shifts_.size());
    Cost total{.flops = elements * taps * (is_complex<T> ? 8 : 2),
               .bytes = 2 * elements * sizeof(T)};
    total += input_->cost();
    return total;
  }

 private:
  std::shared_ptr<PaddedInput<T>> input_;
  kernels::PaddedRows rows_;
  Buffer<index_t> shifts_;
  Buffer<T> coefficients_;
};

template <Scalar T>
class DirectGridFilter final : public OperatorNode<T> {
 public:
  DirectGridFilter(const Layout& layout, const GridFilter<T>& filter)
      : OperatorNode<T>(fmt::format("convolution along ({})", fmt::join(filter.axes, ", ")), layout,
                        layout) {
    std::vector<AxisPadding> widths(at(layout.ndim()));
    for (std::size_t i = 0; i < filter.axes.size(); ++i) {
      const int k = static_cast<int>(i);
      widths[at(filter.axes[i])] = {filter.shape[k] - 1 - filter.offset[k], filter.offset[k]};
    }
    std::vector<AxisPadding> swapped = widths;
    for (AxisPadding& width : swapped) std::swap(width.before, width.after);
    const auto input = std::make_shared<PaddedInput<T>>(layout, widths);
    const auto adjoint_input =
        swapped == widths ? input : std::make_shared<PaddedInput<T>>(layout, swapped);

    // Tap j of the filter is at its mirror image in forward, and at j in the adjoint.
    std::vector<Index> positions;
    std::vector<T> conjugated = filter.taps;
    for (T& tap : conjugated) tap = conj_of(tap);
    Index tap = Index::filled(filter.shape.ndim(), 0);
    for (std::size_t j = 0; j < filter.taps.size(); ++j, advance(filter.shape, tap)) {
      positions.push_back(Index::filled(layout.ndim(), 0));
      for (std::size_t i = 0; i < filter.axes.size(); ++i) {
        positions.back()[filter.axes[i]] = tap[static_cast<int>(i)];
      }
    }
    const std::vector<T> reversed(filter.taps.rbegin(), filter.taps.rend());
    const int row_axis = *std::max_element(filter.axes.begin(), filter.axes.end());
    forward_.emplace(input, layout, row_axis, positions, reversed);
    adjoint_.emplace(adjoint_input, layout, row_axis, positions, conjugated);
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    forward_->apply(x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    adjoint_->apply(y, x, update);
  }
  Cost cost() const override { return forward_->cost(); }
  Cost adjoint_cost() const override { return adjoint_->cost(); }

 private:
  std::optional<GridPass<T>> forward_;
  std::optional<GridPass<T>> adjoint_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> direct_grid_filter(const Layout& layout, const GridFilter<T>& filter) {
  return make_operator<DirectGridFilter<T>>(layout, filter);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> direct_grid_filter<T>(const Layout&, const GridFilter<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
