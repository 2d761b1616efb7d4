#include <weft/op/convolution/non_stationary_filters.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/basic/zero.hpp>

#include "array/plan_agreement.hpp"
#include "op/convolution/filter_bank.hpp"
#include "op/convolution/padded_input.hpp"
#include "op/peers.hpp"

#include <fmt/format.h>

namespace weft {
namespace {

using detail::FilterBankGrid;

template <Scalar T>
class NonStationaryFilters final : public OperatorNode<T> {
 public:
  NonStationaryFilters(const ConstArrayView<T>& input, const FilterBankGrid& grid)
      : OperatorNode<T>(
            fmt::format("non-stationary filters along ({})", fmt::join(grid.axes, ", ")),
            replicated_like(input.layout(), grid.shape()), input.layout()),
        input_(input, grid.widths(input.shape())),
        tables_(grid, input.layout(), input_.shape(), detail::FilterPlace::at_input),
        comm_(input.layout().is_replicated() ? Comm::self() : input.layout().group_comm()) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    dispatch(y.device(), [&](auto device) {
      kernels::apply_filter_bank(device, tables_.rows(), tables_.nodes(), kernel_cast(x.data()),
                                 kernel_value(update.alpha), kernel_cast(input_.data()),
                                 kernel_value(update.beta), kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    // x is replicated: only rank 0 adds beta x to the sum over ranks.
    const bool is_shared = detail::has_peers(comm_);
    if (is_shared && comm_.rank() != 0) update.beta = T{};
    dispatch(x.device(), [&](auto device) {
      kernels::correlate_filter_bank(device, tables_.rows(), tables_.nodes(), x.local_count(),
                                     kernel_cast(input_.data()), kernel_value(update.alpha),
                                     kernel_cast(y.data()), kernel_value(update.beta),
                                     kernel_cast(x.data()));
    });
    if (is_shared) comm_.allreduce(BufferRef(x.data(), x.local_count(), x.device()));
  }
  Cost cost() const override {
    const auto elements = static_cast<double>(this->range().local_count());
    const auto products = elements * static_cast<double>(tables_.nodes().taps);
    return {.flops = products * (is_complex<T> ? 12 : 4),
            .bytes = sizeof(T) * (2 * elements + static_cast<double>(this->domain().count()))};
  }
  Cost adjoint_cost() const override {
    Cost total = cost();
    total.messages = detail::has_peers(comm_) ? 1 : 0;
    return total;
  }

 private:
  /// A copy of the input, with its ghost cells.
  class Input {
   public:
    Input(const ConstArrayView<T>& x, const std::vector<AxisPadding>& widths)
        : padded_(x.layout(), widths), copy_(x) {
      data_ = padded_.fill(copy_);
    }
    const Shape& shape() const { return padded_.shape(); }
    const T* data() const { return data_; }

   private:
    detail::PaddedInput<T> padded_;
    DistributedArray<T> copy_;
    const T* data_;
  };

  Input input_;
  detail::FilterBankTables<Real<T>> tables_;
  Comm comm_;  // the ranks among which the data is distributed
};

template <Scalar T>
LinearOperator<T> make(const ConstArrayView<T>& input, const Shape& shape,
                       const std::vector<std::vector<index_t>>& positions,
                       const NonStationaryFiltersOptions& options, std::size_t axes,
                       const char* who) {
  const Layout& layout = input.layout();
  detail::agree_on_plan(who, {&layout}, dtype_of<T>,
                        detail::text_of(options.axes, positions, shape));
  require(!layout.is_stack(), "{}: the input must not be a stack, got {}", who, to_string(layout));
  require(positions.size() == axes, "{}: got positions along {} axes, expected {}", who,
          positions.size(), axes);
  const FilterBankGrid grid =
      detail::filter_bank_grid(layout.shape(), options.axes, positions, shape, who);
  if (layout.count() == 0) return zero<T>(replicated_like(layout, grid.shape()), layout);
  return make_operator<NonStationaryFilters<T>>(input, grid);
}

}  // namespace

template <Scalar T>
LinearOperator<T> non_stationary_filters1d(const ConstArrayView<T>& input, index_t taps,
                                           const std::vector<index_t>& positions,
                                           const NonStationaryFiltersOptions& options) {
  return make<T>(input, {taps}, {positions}, options, 1, "non_stationary_filters1d");
}

template <Scalar T>
LinearOperator<T> non_stationary_filters2d(const ConstArrayView<T>& input, const Shape& shape,
                                           const std::vector<std::vector<index_t>>& positions,
                                           const NonStationaryFiltersOptions& options) {
  return make<T>(input, shape, positions, options, 2, "non_stationary_filters2d");
}

#define INSTANTIATE(T)                                                                             \
  template LinearOperator<T> non_stationary_filters1d<T>(const ConstArrayView<T>&, index_t,        \
                                                         const std::vector<index_t>&,              \
                                                         const NonStationaryFiltersOptions&);      \
  template LinearOperator<T> non_stationary_filters2d<T>(const ConstArrayView<T>&, const Shape&,   \
                                                         const std::vector<std::vector<index_t>>&, \
                                                         const NonStationaryFiltersOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
