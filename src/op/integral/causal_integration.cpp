#include <weft/op/integral/causal_integration.hpp>

#include <weft/array/layout_transforms.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/plan_agreement.hpp"
#include "core/option_checks.hpp"
#include "op/axis_extents.hpp"
#include "op/axis_layout.hpp"
#include "op/integral/running_sum_kernels.hpp"
#include "op/peers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

template <Scalar T>
class CausalIntegration final : public OperatorNode<T> {
 public:
  CausalIntegration(const Layout& domain, const Layout& range, int axis,
                    const CausalIntegrationOptions& options)
      : OperatorNode<T>(fmt::format("causal integration along axis {}", axis), domain, range),
        forward_(forward_plan(domain, range, axis, options)),
        adjoint_(reversed(forward_)) {
    if (detail::is_undistributed(domain, axis)) return;
    comm_ = domain.line_comm(axis);
    if (!detail::has_peers(comm_)) return;
    totals_ = Buffer<Sum>(lines(), domain.device());
    all_totals_ = Buffer<Sum>(lines() * comm_.size(), domain.device());
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    if (has_messages()) exchange_totals(x, forward_, 0, comm_.rank());
    integrate(x, y, forward_, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    if (has_messages()) exchange_totals(y, adjoint_, comm_.rank() + 1, comm_.size());
    integrate(y, x, adjoint_, update);
  }
  Cost cost() const override {
    const auto in = static_cast<double>(this->domain().local_count());
    const auto out = static_cast<double>(this->range().local_count());
    const double reads = has_messages() ? 2 : 1;
    return {.flops = in * (reads + 1) * (is_complex<T> ? 2 : 1),
            .bytes = (reads * in + out) * sizeof(T),
            .messages = has_messages() ? 1.0 : 0.0};
  }

 private:
  /// The type that sums are accumulated in.
  using Sum = std::conditional_t<is_complex<T>, std::complex<double>, double>;

  static kernels::RunningSumPlan forward_plan(const Layout& domain, const Layout& range, int axis,
                                              const CausalIntegrationOptions& options) {
    const detail::AxisExtents in(domain.box().shape, axis);
    const bool is_first = in.n > 0 && domain.box().offset[axis] == 0;
    const bool is_trapezoidal = options.kind == IntegrationKind::trapezoidal;
    const bool edge = is_first && (options.remove_first || is_trapezoidal);
    return {.outer = in.outer,
            .n = in.n - (edge ? 1 : 0),
            .inner = in.inner,
            .in_extent = in.n,
            .in_first = edge ? 1 : 0,
            .out_extent = range.box().shape[axis],
            .out_first = edge && !options.remove_first ? 1 : 0,
            .reverse = false,
            .scale = options.sampling,
            .halves = options.kind != IntegrationKind::full,
            .edge = edge,
            .edge_weight = is_trapezoidal ? 0.5 : 1.0};
  }
  static kernels::RunningSumPlan reversed(kernels::RunningSumPlan plan) {
    std::swap(plan.in_extent, plan.out_extent);
    std::swap(plan.in_first, plan.out_first);
    plan.reverse = true;
    return plan;
  }
  index_t lines() const { return forward_.outer * forward_.inner; }
  bool has_messages() const { return detail::has_peers(comm_); }

  /// totals_ = the sums of the lines on ranks [first, last) along the axis.
  void exchange_totals(const ConstArrayView<T>& x, const kernels::RunningSumPlan& plan, int first,
                       int last) const {
    dispatch(x.device(), [&](auto device) {
      kernels::line_totals(device, plan, kernel_cast(x.data()), kernel_cast(totals_.data()));
    });
    comm_.all_gather(ConstBufferRef(totals_), BufferRef(all_totals_));
    dispatch(x.device(), [&](auto device) {
      kernels::sum_rows(device, lines(), first, last,
                        kernel_cast(std::as_const(all_totals_).data()),
                        kernel_cast(totals_.data()));
    });
  }
  void integrate(const ConstArrayView<T>& from, const ArrayView<T>& to,
                 const kernels::RunningSumPlan& plan, Update<T> update) const {
    dispatch(to.device(), [&](auto device) {
      kernels::running_sums(device, plan, kernel_value(update.alpha), kernel_cast(from.data()),
                            has_messages() ? kernel_cast(std::as_const(totals_).data()) : nullptr,
                            kernel_value(update.beta), kernel_cast(to.data()));
    });
  }

  kernels::RunningSumPlan forward_;
  kernels::RunningSumPlan adjoint_;
  Comm comm_ = Comm::self();  // of the ranks along the axis, if it is distributed
  mutable Buffer<Sum> totals_;
  mutable Buffer<Sum> all_totals_;  // of all these ranks
};

}  // namespace

template <Scalar T>
LinearOperator<T> causal_integration(const Layout& layout,
                                     const CausalIntegrationOptions& options) {
  constexpr const char* who = "causal_integration";
  detail::agree_on_plan(
      who, {&layout}, dtype_of<T>,
      fmt::format("axis {}, sampling {}, kind {}{}", options.axis, options.sampling,
                  static_cast<int>(options.kind), options.remove_first ? ", remove_first" : ""));
  detail::require_enumerator(options.kind, IntegrationKind::trapezoidal, who, "IntegrationKind");
  require(std::isfinite(options.sampling) && options.sampling != 0,
          "{}: sampling must be finite and nonzero, got {}", who, options.sampling);
  const int axis = normalize_axis(options.axis, layout.ndim(), who);
  Layout range = layout;
  if (options.remove_first) {
    range = recut(layout, axis, [](std::span<const index_t> splits) {
      std::vector<index_t> shifted(splits.begin(), splits.end());
      for (index_t& split : shifted) split = std::max<index_t>(0, split - 1);
      return shifted;
    });
  }
  return make_operator<CausalIntegration<T>>(layout, range, axis, options);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> causal_integration<T>(const Layout&, const CausalIntegrationOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
