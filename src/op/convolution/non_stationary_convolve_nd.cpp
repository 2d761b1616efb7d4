#include <weft/op/convolution/non_stationary_convolve_nd.hpp>

#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/plan_agreement.hpp"
#include "op/convolution/filter_bank.hpp"
#include "op/convolution/padded_input.hpp"
#include "op/scaling.hpp"
#include "op/to_device.hpp"

#include <fmt/format.h>

namespace weft {
namespace {

using detail::FilterBankGrid;
using detail::FilterPlace;

template <Scalar T>
std::vector<T> conjugated(std::vector<T> values) {
  for (T& value : values) value = detail::conj_of(value);
  return values;
}

template <Scalar T>
class NonStationaryConvolve final : public OperatorNode<T> {
  using Tables = detail::FilterBankTables<Real<T>>;

 public:
  NonStationaryConvolve(const Layout& layout, const FilterBankGrid& grid,
                        const std::vector<T>& filters)
      : OperatorNode<T>(
            fmt::format("non-stationary convolution along ({})", fmt::join(grid.axes, ", ")),
            layout, layout),
        input_(layout, grid.widths(layout.shape())),
        forward_(grid, layout, input_.shape(), FilterPlace::at_input),
        adjoint_(grid, layout, input_.shape(), FilterPlace::at_output),
        filters_(detail::to_device<T>(filters, layout.device())) {
    if constexpr (is_complex<T>) {
      conjugated_ = detail::to_device<T>(conjugated(filters), layout.device());
    }
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    apply(forward_, filters_, x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    apply(adjoint_, is_complex<T> ? conjugated_ : filters_, y, x, update);
  }
  Cost cost() const override {
    const auto elements = static_cast<double>(this->domain().local_count());
    const auto products = elements * static_cast<double>(forward_.nodes().taps);
    // Each product interpolates its tap.
    Cost total{.flops = products * (is_complex<T> ? 12 : 4),
               .bytes = sizeof(T) * (2 * elements + static_cast<double>(filters_.size()))};
    total += input_.cost();
    return total;
  }

 private:
  void apply(const Tables& tables, const Buffer<T>& filters, const ConstArrayView<T>& x,
             const ArrayView<T>& y, Update<T> update) const {
    const T* in = input_.fill(x);
    dispatch(y.device(), [&](auto device) {
      kernels::apply_filter_bank(device, tables.rows(), tables.nodes(), kernel_cast(filters.data()),
                                 kernel_value(update.alpha), kernel_cast(in),
                                 kernel_value(update.beta), kernel_cast(y.data()));
    });
  }

  mutable detail::PaddedInput<T> input_;
  Tables forward_;
  Tables adjoint_;
  Buffer<T> filters_;
  Buffer<T> conjugated_;  // for the adjoint, if they are complex
};

template <Scalar T>
LinearOperator<T> make(const Layout& layout, const FilterBank<T>& bank,
                       const NonStationaryConvolveOptions& options, std::size_t axes,
                       const char* who) {
  detail::agree_on_plan(
      who, {&layout}, dtype_of<T>,
      fmt::format("{}, {} elements", detail::text_of(options.axes, bank.positions, bank.shape),
                  bank.filters.size()));
  require(bank.positions.size() == axes, "{}: got positions along {} axes, expected {}", who,
          bank.positions.size(), axes);
  const FilterBankGrid grid =
      detail::filter_bank_grid(layout.shape(), options.axes, bank.positions, bank.shape, who);
  require(static_cast<index_t>(bank.filters.size()) == grid.shape().count(),
          "{}: got {} elements, but filters at these positions have shape {}", who,
          bank.filters.size(), to_string(grid.shape()));
  if (layout.count() == 0) return identity<T>(layout);
  return make_operator<NonStationaryConvolve<T>>(layout, grid, bank.filters);
}

}  // namespace

template <Scalar T>
LinearOperator<T> non_stationary_convolve2d(const Layout& layout,
                                            const std::type_identity_t<FilterBank<T>>& bank,
                                            const NonStationaryConvolveOptions& options) {
  return make<T>(layout, bank, options, 2, "non_stationary_convolve2d");
}

template <Scalar T>
LinearOperator<T> non_stationary_convolve3d(const Layout& layout,
                                            const std::type_identity_t<FilterBank<T>>& bank,
                                            const NonStationaryConvolveOptions& options) {
  return make<T>(layout, bank, options, 3, "non_stationary_convolve3d");
}

#define INSTANTIATE(T)                                           \
  template LinearOperator<T> non_stationary_convolve2d<T>(       \
      const Layout&, const std::type_identity_t<FilterBank<T>>&, \
      const NonStationaryConvolveOptions&);                      \
  template LinearOperator<T> non_stationary_convolve3d<T>(       \
      const Layout&, const std::type_identity_t<FilterBank<T>>&, \
      const NonStationaryConvolveOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
