#include <weft/op/basic/regression.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/plan_agreement.hpp"
#include "op/basic/regression_kernels.hpp"
#include "op/peers.hpp"

#include <fmt/core.h>

#include <utility>

namespace weft {
namespace {

template <Scalar T>
class Regression final : public OperatorNode<T> {
 public:
  Regression(const ConstArrayView<Real<T>>& t, int order)
      : OperatorNode<T>(fmt::format("regression of order {}", order),
                        replicated_like(t.layout(), {index_t{order} + 1}), t.layout()),
        t_(t),
        order_(order),
        is_distributed_(!t.layout().is_replicated() && detail::has_peers(t.layout().group_comm())),
        moments_(passes() * per_pass, t.device()) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    dispatch(y.device(), [&](auto device) {
      kernels::evaluate_polynomial(device, y.local_count(), order_, t_.data(),
                                   kernel_value(update.alpha), kernel_cast(x.data()),
                                   kernel_value(update.beta), kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    dispatch(x.device(), [&](auto device) {
      for (index_t pass = 0; pass < passes(); ++pass) {
        const int first = static_cast<int>(pass) * per_pass;
        kernels::sum_moments(device, y.local_count(), first, t_.data(), kernel_cast(y.data()),
                             kernel_cast(moments_.data() + first));
      }
    });
    if (is_distributed_) {
      const Comm& comm = this->range().group_comm();
      comm.allreduce(BufferRef(moments_.data(), x.local_count(), x.device()));
    }
    dispatch(x.device(), [&](auto device) {
      kernels::put_moments(device, x.local_count(), kernel_value(update.alpha),
                           kernel_cast(std::as_const(moments_).data()), kernel_value(update.beta),
                           kernel_cast(x.data()));
    });
  }
  Cost cost() const override { return cost_of(1); }
  Cost adjoint_cost() const override {
    Cost cost = cost_of(static_cast<double>(passes()));
    cost.messages = is_distributed_ ? 1 : 0;
    return cost;
  }

 private:
  /// The type that moments are summed in.
  using Sum = std::conditional_t<is_complex<T>, std::complex<double>, double>;

  static constexpr int per_pass = kernels::moments_per_pass<KernelType<T>>;

  index_t passes() const { return (index_t{order_} + per_pass) / per_pass; }
  Cost cost_of(double passes) const {
    const auto elements = static_cast<double>(this->range().local_count());
    return {.flops = 2 * elements * order_ * (is_complex<T> ? 2 : 1),
            .bytes = elements * passes * (sizeof(T) + sizeof(Real<T>))};
  }

  DistributedArray<Real<T>> t_;
  int order_;
  bool is_distributed_;
  mutable Buffer<Sum> moments_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> regression(const ConstArrayView<Real<T>>& t, const RegressionOptions& options) {
  detail::agree_on_plan("regression", {&t.layout()}, dtype_of<T>,
                        fmt::format("order {}", options.order));
  require(!t.layout().is_stack(), "regression: t must not be a stack, but is {}",
          to_string(t.layout()));
  require(options.order >= 0, "regression: order must not be negative, got {}", options.order);
  return make_operator<Regression<T>>(t, options.order);
}

#define INSTANTIATE(T)                                                     \
  template LinearOperator<T> regression<T>(const ConstArrayView<Real<T>>&, \
                                           const RegressionOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
