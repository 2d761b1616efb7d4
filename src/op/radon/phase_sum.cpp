#include "op/radon/phase_sum.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/axis_layout.hpp"
#include "op/radon/phase_sum_kernels.hpp"
#include "op/to_device.hpp"

#include <fmt/core.h>

#include <utility>

namespace weft::detail {
namespace {

template <Scalar C>
class PhaseSum final : public OperatorNode<C> {
 public:
  PhaseSum(const Layout& domain, const Layout& range, const PhaseSumOptions& options)
      : OperatorNode<C>(fmt::format("phase sum along axis {}", options.axis), domain, range),
        input_positions_(to_device<double>(options.input_positions, domain.device())),
        output_positions_(to_device<double>(options.output_positions, domain.device())) {
    const Box& box = domain.box();
    const int last = domain.ndim() - 1;
    sum_ = {.outer = box.shape.count(0, options.axis),
            .inputs = box.shape[options.axis],
            .outputs = range.box().shape[options.axis],
            .middle = box.shape.count(options.axis + 1, last),
            .frequencies = box.shape[last],
            .first = box.offset[last],
            .begin = options.begin,
            .end = options.end,
            .df = options.df,
            .input_positions = std::as_const(input_positions_).data(),
            .output_positions = std::as_const(output_positions_).data()};
  }

  void forward(const ConstArrayView<C>& x, const ArrayView<C>& y, Update<C> update) const override {
    apply(sum_, x, y, update);
  }
  void adjoint(const ConstArrayView<C>& y, const ArrayView<C>& x, Update<C> update) const override {
    kernels::PhaseSum transposed = sum_;
    std::swap(transposed.inputs, transposed.outputs);
    std::swap(transposed.input_positions, transposed.output_positions);
    transposed.df = -sum_.df;
    apply(transposed, y, x, update);
  }
  Cost cost() const override {
    const auto lines = static_cast<double>(sum_.outer * sum_.middle * sum_.frequencies);
    const auto inputs = static_cast<double>(sum_.inputs);
    const auto outputs = static_cast<double>(sum_.outputs);
    return {.flops = 14 * lines * inputs * outputs,
            .bytes = sizeof(C) * lines * (inputs + outputs)};
  }

 private:
  static void apply(const kernels::PhaseSum& sum, const ConstArrayView<C>& x, const ArrayView<C>& y,
                    Update<C> update) {
    dispatch(y.device(), [&](auto device) {
      kernels::apply_phase_sum(device, sum, kernel_value(update.alpha), kernel_cast(x.data()),
                               kernel_value(update.beta), kernel_cast(y.data()));
    });
  }

  Buffer<double> input_positions_;
  Buffer<double> output_positions_;
  kernels::PhaseSum sum_{};
};

}  // namespace

template <Scalar C>
LinearOperator<C> phase_sum(const Layout& layout, const PhaseSumOptions& options) {
  const auto outputs = static_cast<index_t>(options.output_positions.size());
  return make_operator<PhaseSum<C>>(layout, resize_axis(layout, options.axis, outputs), options);
}

#define INSTANTIATE(R)                                                               \
  template LinearOperator<std::complex<R>> phase_sum<std::complex<R>>(const Layout&, \
                                                                      const PhaseSumOptions&);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::detail
