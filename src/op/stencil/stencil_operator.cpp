#include "op/stencil/stencil_operator.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "core/at.hpp"
#include "core/on_error.hpp"
#include "op/stencil/stencil_kernels.hpp"
#include "op/to_device.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

static_assert(reach == kernels::stencil_reach);

template <Scalar T>
ConstArrayView<T> part_of(const ConstArrayView<T>& x, int part) {
  return x.layout().is_stack() ? x.part(part) : x;
}
template <Scalar T>
ArrayView<T> part_of(const ArrayView<T>& x, int part) {
  return x.layout().is_stack() ? x.part(part) : x;
}

int parts_of(const Layout& layout) { return layout.is_stack() ? layout.part_count() : 1; }

/// Forward or adjoint of the operator: halo exchanges and a plan for the kernels. The interior is
/// computed while ghost cells are in flight, the boundary after they have arrived.
template <Scalar T>
class StencilPass {
 public:
  StencilPass(Layout layout, const Layout& from, const Layout& to, std::vector<AxisMatrix> matrices)
      : layout_(std::move(layout)), taps_(at(parts_of(to))) {
    std::sort(matrices.begin(), matrices.end(),
              [](const AxisMatrix& a, const AxisMatrix& b) { return a.axis < b.axis; });
    plan_.inputs = parts_of(from);
    plan_.outputs = parts_of(to);
    merge_axes(matrices);
    make_exchanges(matrices);
    copy_rows(matrices);
    std::copy_n(plan_.extents, plan_.axes, plan_.core_end);
    std::copy_n(plan_.extents, plan_.axes, interior_.end);
    for (const AxisMatrix& each : matrices) add_term(each);
    collect_taps();
    split_boxes();
  }

  void run(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) {
    if (layout_.local_count() == 0) return;  // no rank exchanges ghost cells with it
    for (int i = 0; i < plan_.inputs; ++i) plan_.x[i] = kernel_cast(part_of(x, i).data());
    for (int i = 0; i < plan_.outputs; ++i) plan_.y[i] = kernel_cast(part_of(y, i).data());
    for (auto& tap : plan_.tap) tap.from = plan_.x[tap.input] + tap.shift;
    const OnError guard([this] {
      for (HaloExchange<T>& exchange : exchanges_) exchange.abandon();
    });
    for (int i = 0; i < plan_.inputs; ++i) exchanges_[at(i)].start(part_of(x, i));
    apply(interior_, update);
    for (HaloExchange<T>& exchange : exchanges_) exchange.finish();
    for (const kernels::StencilBox& box : boundary_) apply(box, update);
  }

  Cost cost() const {
    const auto elements = static_cast<double>(layout_.local_count());
    Cost cost{.flops = elements * plan_.outputs * plan_.taps * (is_complex<T> ? 4 : 2),
              .bytes = elements * (plan_.inputs + plan_.outputs) * sizeof(T)};
    for (const HaloExchange<T>& exchange : exchanges_) {
      cost.messages += static_cast<double>(exchange.message_count());
    }
    return cost;
  }

 private:
  using Kernel = KernelType<T>;

  /// Merges adjacent axes without a matrix.
  void merge_axes(const std::vector<AxisMatrix>& matrices) {
    const Shape& shape = layout_.box().shape;
    bool mergeable = false;
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      const bool is_used = std::any_of(matrices.begin(), matrices.end(),
                                       [&](const AxisMatrix& each) { return each.axis == axis; });
      if (mergeable && !is_used) {
        plan_.extents[plan_.axes - 1] *= shape[axis];
      } else {
        plan_.extents[plan_.axes++] = shape[axis];
      }
      merged_axis_[at(axis)] = plan_.axes - 1;
      mergeable = !is_used;
    }
    index_t stride = 1;
    for (int axis = plan_.axes - 1; axis >= 0; --axis) {
      plan_.strides[axis] = stride;
      stride *= plan_.extents[axis];
    }
  }

  /// One exchange for each input, with the widths that its matrices need.
  void make_exchanges(const std::vector<AxisMatrix>& matrices) {
    for (int input = 0; input < plan_.inputs; ++input) {
      std::vector<AxisPadding> widths(at(layout_.ndim()));
      for (const AxisMatrix& each : matrices) {
        if (each.domain_part != input || !layout_.is_cut(each.axis)) continue;
        widths[at(each.axis)] = each.matrix.width();
      }
      exchanges_.emplace_back(layout_, widths, HaloOptions{.corners = false});
    }
  }

  /// Copies the rows of all matrices to the device.
  void copy_rows(const std::vector<AxisMatrix>& matrices) {
    std::vector<Real<T>> all;
    for (const AxisMatrix& each : matrices) {
      for (const Stencil& row : each.matrix.rows()) {
        for (const double coefficient : row) all.push_back(static_cast<Real<T>>(coefficient));
      }
    }
    rows_ = to_device<Real<T>>(all, layout_.device());
  }

  void add_term(const AxisMatrix& each) {
    const StencilMatrix& matrix = each.matrix;
    const HaloExchange<T>& exchange = std::as_const(exchanges_[at(each.domain_part)]);
    const AxisPadding width = exchange.width(each.axis);
    const int axis = merged_axis_[at(each.axis)];
    const index_t first = layout_.box().offset[each.axis];
    const auto special_rows = static_cast<index_t>(matrix.rows().size()) - 1;
    plan_.term[plan_.terms++] = {
        .axis = axis,
        .input = each.domain_part,
        .output = each.range_part,
        .reach = static_cast<int>(matrix.max_reach()),
        .before = kernel_cast(exchange.ghosts(each.axis, Side::before)),
        .after = kernel_cast(exchange.ghosts(each.axis, Side::after)),
        .before_width = width.before,
        .after_width = width.after,
        .rows = rows_.data() + rows_used_,
        .first = first,
        .head = matrix.head(),
        .tail = matrix.tail(),
        .special_rows = special_rows,
        .interior = {},
        .reach_before = matrix.interior_width().before,
        .reach_after = matrix.interior_width().after,
    };
    std::copy(matrix.interior().begin(), matrix.interior().end(),
              plan_.term[plan_.terms - 1].interior);
    rows_used_ += (special_rows + 1) * kernels::stencil_width;
    narrow_boxes(each, plan_.term[plan_.terms - 1]);
    for (int d = -reach; d <= reach; ++d) {
      const double weight = matrix.interior()[at(d + reach)];
      if (weight != 0) add_tap(each, d * plan_.strides[axis], weight, axis == plan_.axes - 1);
    }
  }

  /// Adds a tap to an output. Terms across the last axis share the tap at their centre.
  void add_tap(const AxisMatrix& each, index_t shift, double weight, bool is_along) {
    auto& taps = taps_[at(each.range_part)];
    for (auto& tap : taps) {
      if (!is_along && tap.input == each.domain_part && tap.shift == shift) {
        tap.weight += static_cast<Real<T>>(weight);
        return;
      }
    }
    taps.push_back({each.domain_part, shift, static_cast<Real<T>>(weight), nullptr});
    if (!is_along) ++plan_.across[each.range_part];
  }

  /// Copies the taps of all outputs to the plan.
  void collect_taps() {
    for (const auto& taps : taps_) plan_.taps = std::max(plan_.taps, static_cast<int>(taps.size()));
    auto* tap = plan_.tap;
    for (const auto& taps : taps_) {
      std::copy(taps.begin(), taps.end(), tap);
      tap += plan_.taps;
    }
  }

  /// Restricts the core to points where the interior row of a matrix applies, and interior_ to
  /// points that need no ghost cells.
  void narrow_boxes(const AxisMatrix& each, const kernels::StencilTerm<Kernel>& term) {
    const index_t extent = plan_.extents[term.axis];
    const AxisPadding needs = each.matrix.interior_width();
    const auto narrow_to = [&](index_t& begin, index_t& end, index_t from, index_t to) {
      begin = std::clamp(from, begin, extent);
      end = std::clamp(to, begin, std::max(begin, end));
    };
    narrow_to(plan_.core_begin[term.axis], plan_.core_end[term.axis],
              std::max(term.head - term.first, needs.before),
              std::min(term.tail - term.first, extent - needs.after));
    const bool is_last = term.first + extent == each.matrix.size();
    narrow_to(interior_.begin[term.axis], interior_.end[term.axis],
              term.first == 0 ? 0 : term.before_width, extent - (is_last ? 0 : term.after_width));
  }

  /// Divides the part into interior_ and boundary_. Rows along the last axis stay whole: visiting
  /// them twice costs more than overlap gains.
  void split_boxes() {
    kernels::StencilBox rest{};
    std::copy_n(plan_.extents, plan_.axes, rest.end);
    const int last = plan_.axes - 1;
    if (interior_.begin[last] > 0 || interior_.end[last] < plan_.extents[last]) {
      boundary_ = {rest};
      interior_ = {};
      return;
    }
    for (int axis = 0; axis < last; ++axis) {
      kernels::StencilBox before = rest;
      kernels::StencilBox after = rest;
      before.end[axis] = rest.begin[axis] = interior_.begin[axis];
      after.begin[axis] = rest.end[axis] = interior_.end[axis];
      if (before.end[axis] > 0) boundary_.push_back(before);
      if (after.begin[axis] < plan_.extents[axis]) boundary_.push_back(after);
    }
  }

  void apply(const kernels::StencilBox& box, Update<T> update) const {
    dispatch(layout_.device(), [&](auto device) {
      kernels::apply_stencils(device, plan_, box, kernel_value(update.alpha),
                              kernel_value(update.beta));
    });
  }

  Layout layout_;
  kernels::StencilPlan<Kernel> plan_{};
  std::array<int, max_dims> merged_axis_{};
  std::vector<HaloExchange<T>> exchanges_;
  Buffer<Real<T>> rows_;
  index_t rows_used_ = 0;
  std::vector<std::vector<kernels::StencilTap<Kernel>>> taps_;
  kernels::StencilBox interior_{};
  std::vector<kernels::StencilBox> boundary_;
};

template <Scalar T>
class StencilOperator final : public OperatorNode<T> {
 public:
  StencilOperator(const std::string& name, const Layout& layout, const Layout& domain,
                  const Layout& range, const std::vector<AxisMatrix>& matrices)
      : OperatorNode<T>(name, domain, range),
        forward_(layout, domain, range, matrices),
        adjoint_(layout, range, domain, transposed(matrices)) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    forward_.run(x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    adjoint_.run(y, x, update);
  }
  Cost cost() const override { return forward_.cost(); }
  Cost adjoint_cost() const override { return adjoint_.cost(); }

 private:
  static std::vector<AxisMatrix> transposed(const std::vector<AxisMatrix>& matrices) {
    std::vector<AxisMatrix> all;
    for (const AxisMatrix& each : matrices) {
      all.push_back({each.axis, each.matrix.transposed(), each.range_part, each.domain_part});
    }
    return all;
  }

  mutable StencilPass<T> forward_;
  mutable StencilPass<T> adjoint_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> stencil_operator(const std::string& name, const Layout& layout,
                                   const Layout& domain, const Layout& range,
                                   const std::vector<AxisMatrix>& matrices) {
  return make_operator<StencilOperator<T>>(name, layout, domain, range, matrices);
}

#define INSTANTIATE(T)                                                                             \
  template LinearOperator<T> stencil_operator<T>(const std::string&, const Layout&, const Layout&, \
                                                 const Layout&, const std::vector<AxisMatrix>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
