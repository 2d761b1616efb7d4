#include <weft/op/windows/sliding.hpp>

#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/plan_agreement.hpp"
#include "array/strides.hpp"
#include "core/on_error.hpp"
#include "core/option_checks.hpp"
#include "op/axis_options.hpp"
#include "op/windows/local_windows.hpp"
#include "op/windows/window_kernels.hpp"
#include "op/windows/window_plan.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace weft {
namespace {

using detail::LocalWindows;
using detail::WindowPlan;
using detail::WindowsAlong;
using detail::WindowSlab;

template <Scalar D, Scalar R>
class Sliding final : public OperatorNode<D, R> {
 public:
  Sliding(const std::string& name, WindowPlan plan, const LinearOperator<D, R>& a,
          const WindowOptions& options)
      : OperatorNode<D, R>(name, plan.domain(), plan.data()),
        plan_(std::move(plan)),
        a_(a),
        scalings_(detail::scalings_of(plan_, options.scalings)),
        local_(plan_, options.taper),
        windows_(local_.count(), plan_.data().device()),
        forward_messages_(plan_.data().comm()),
        adjoint_messages_(plan_.data().comm()) {
    const auto buffers_for = [&](const std::vector<WindowSlab>& slabs) {
      std::vector<Buffer<R>> buffers;
      for (const WindowSlab& slab : slabs)
        buffers.emplace_back(shape_of(slab).count(), plan_.data().device());
      return buffers;
    };
    ghost_slabs_ = buffers_for(plan_.ghost_slabs());
    shared_slabs_ = buffers_for(plan_.shared_slabs());
    for (std::size_t i = 0; i < ghost_slabs_.size(); ++i) {
      forward_messages_.send(ghost_slabs_[i], plan_.ghost_slabs()[i].peer);
      adjoint_messages_.recv(ghost_slabs_[i], plan_.ghost_slabs()[i].peer);
    }
    for (std::size_t i = 0; i < shared_slabs_.size(); ++i) {
      forward_messages_.recv(shared_slabs_[i], plan_.shared_slabs()[i].peer);
      adjoint_messages_.send(shared_slabs_[i], plan_.shared_slabs()[i].peer);
    }
  }

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    const index_t count = a_.domain().count();
    for (std::size_t i = 0; i < scalings_.size(); ++i) {
      a_.forward({a_.domain(), x.data() + static_cast<index_t>(i) * count, count}, window(i),
                 {R(static_cast<Real<R>>(scalings_[i]))});
    }
    for (std::size_t i = 0; i < ghost_slabs_.size(); ++i) {
      const WindowSlab& slab = plan_.ghost_slabs()[i];
      add_windows(ghost_slabs_[i].data(), shape_of(slab), slab.positions.begin, {});
    }
    const detail::OnError guard([this] { forward_messages_.abandon(); });
    if (has_messages()) forward_messages_.start();
    add_windows(y.data(), y.local_shape(), first_position(), update);
    if (has_messages()) forward_messages_.finish();
    for (std::size_t i = 0; i < shared_slabs_.size(); ++i) add_to_shared_slab(i, update.alpha, y);
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    for (std::size_t i = 0; i < shared_slabs_.size(); ++i) pack_shared_slab(i, y);
    const detail::OnError guard([this] { adjoint_messages_.abandon(); });
    if (has_messages()) adjoint_messages_.start();
    extract(y.data(), y.local_shape(), first_position());
    if (has_messages()) adjoint_messages_.finish();
    for (std::size_t i = 0; i < ghost_slabs_.size(); ++i) {
      const WindowSlab& slab = plan_.ghost_slabs()[i];
      extract(std::as_const(ghost_slabs_[i]).data(), shape_of(slab), slab.positions.begin);
    }
    const index_t count = a_.domain().count();
    for (std::size_t i = 0; i < scalings_.size(); ++i) {
      a_.adjoint(window(i), {a_.domain(), x.data() + static_cast<index_t>(i) * count, count},
                 {update.alpha * D(static_cast<Real<D>>(scalings_[i])), update.beta});
    }
  }
  std::vector<const AnyOperatorNode*> children() const override { return {a_.node().get()}; }
  Cost cost() const override { return cost_with(a_.cost(), to_double(ghost_slabs_.size())); }
  Cost adjoint_cost() const override {
    return cost_with(a_.adjoint_cost(), to_double(shared_slabs_.size()));
  }

 private:
  static double to_double(std::size_t count) { return static_cast<double>(count); }
  Cost cost_with(Cost of_window, double messages) const {
    const double windows = to_double(scalings_.size());
    const auto moved = 2 * local_.count() + this->range().local_count();
    return {.flops = windows * of_window.flops + 2 * static_cast<double>(local_.count()),
            .bytes = windows * of_window.bytes + sizeof(R) * static_cast<double>(moved),
            .messages = messages};
  }

  bool has_messages() const { return !ghost_slabs_.empty() || !shared_slabs_.empty(); }
  ArrayView<R> window(std::size_t i) const {
    const index_t count = local_.window_count();
    return {a_.range(), windows_.data() + static_cast<index_t>(i) * count, count};
  }
  /// The position of this rank's part along the distributed axis.
  index_t first_position() const {
    if (plan_.distributed() < 0) return 0;
    return this->range().box().offset[distributed_axis()];
  }
  int distributed_axis() const {
    return plan_.windows()[static_cast<std::size_t>(plan_.distributed())].axis;
  }
  Shape shape_of(const WindowSlab& slab) const {
    return plan_.data().box().shape.with(distributed_axis(), slab.positions.length());
  }

  /// data = alpha sum of windows + beta data in a region.
  void add_windows(R* data, const Shape& shape, index_t begin, Update<R> update) const {
    const auto box = local_.box(kernel_cast(data), shape, begin);
    dispatch(plan_.data().device(), [&](auto device) {
      kernels::overlap_add(device, local_.grid(), kernel_cast(std::as_const(windows_).data()),
                           kernel_value(update.alpha), kernel_value(update.beta), box);
    });
  }
  void extract(const R* data, const Shape& shape, index_t begin) const {
    const auto box = local_.box(kernel_cast(data), shape, begin);
    dispatch(plan_.data().device(), [&](auto device) {
      kernels::extract_windows(device, local_.grid(), box, kernel_cast(windows_.data()));
    });
  }
  /// The offset of a shared_slabs slab in this rank's part.
  index_t offset_of(const WindowSlab& slab, const Shape& local) const {
    return (slab.positions.begin - first_position()) *
           detail::strides_of(local)[distributed_axis()];
  }
  void add_to_shared_slab(std::size_t i, R alpha, const ArrayView<R>& y) const {
    const WindowSlab& slab = plan_.shared_slabs()[i];
    const Shape shape = shape_of(slab);
    dispatch(y.device(), [&](auto device) {
      kernels::axpby_box(device, shape, kernel_value(alpha),
                         kernel_cast(std::as_const(shared_slabs_[i]).data()),
                         detail::strides_of(shape), kernel_value(R{1}),
                         kernel_cast(y.data() + offset_of(slab, y.local_shape())),
                         detail::strides_of(y.local_shape()));
    });
  }
  void pack_shared_slab(std::size_t i, const ConstArrayView<R>& y) const {
    const WindowSlab& slab = plan_.shared_slabs()[i];
    const Shape shape = shape_of(slab);
    dispatch(y.device(), [&](auto device) {
      kernels::copy_box(device, shape, kernel_cast(y.data() + offset_of(slab, y.local_shape())),
                        detail::strides_of(y.local_shape()), kernel_cast(shared_slabs_[i].data()),
                        detail::strides_of(shape));
    });
  }

  WindowPlan plan_;
  LinearOperator<D, R> a_;
  std::vector<double> scalings_;
  LocalWindows<R> local_;
  mutable Buffer<R> windows_;
  mutable std::vector<Buffer<R>> ghost_slabs_;
  mutable std::vector<Buffer<R>> shared_slabs_;
  mutable MessageBatch forward_messages_;  // forward
  mutable MessageBatch adjoint_messages_;  // adjoint
};

/// What ranks compare: each has its own copy of the arguments.
template <Scalar D, Scalar R>
std::string text_of(const LinearOperator<D, R>& a, const std::vector<int>& axes,
                    const WindowOptions& options) {
  return fmt::format(
      "axes {}, windows {}, overlaps {}, taper {}, scalings [{}], of {} from {} to {}",
      fmt::join(axes, " "), fmt::join(options.window, " "), fmt::join(options.overlap, " "),
      static_cast<int>(options.taper), fmt::join(options.scalings, " "), a.name(),
      to_string(a.domain()), to_string(a.range()));
}

WindowsAlong windows_along(const Shape& data, int axis, index_t window, index_t overlap,
                           Taper taper, const char* who) {
  require(window >= 1, "{}: a window must have at least one element, got {} along axis {}", who,
          window, axis);
  require(overlap >= 0 && overlap < window,
          "{}: the overlap along axis {} must be from 0 to {} for windows of {}, got {}", who, axis,
          window - 1, window, overlap);
  const auto can_taper = [&](index_t extent, index_t shared) {
    return taper == Taper::none || shared < 2 || 2 * shared <= extent;
  };
  require(
      can_taper(window, overlap),
      "{}: with a taper, the overlap must be at most half of the window, got {} of {} along axis "
      "{}; use a smaller overlap, or Taper::none",
      who, overlap, window, axis);
  const WindowDesign design = window_design(data[axis], window, overlap);
  if (!design.fits) {
    std::string sizes = fmt::format("{}", design.longer_extent);
    if (design.count > 0) sizes = fmt::format("{} or {}", design.shorter_extent, sizes);
    std::string instead = fmt::format("an axis of {}", sizes);
    if (design.count > 0 && can_taper(window, design.nearest_overlap))
      instead += fmt::format(", an overlap of {}", design.nearest_overlap);
    if (design.nearest_window > 0 && can_taper(design.nearest_window, overlap))
      instead += fmt::format(", or windows of {}", design.nearest_window);
    refuse(
        "{}: windows of {} with an overlap of {} do not fit axis {} of {}: {} of them cover {} "
        "elements. What fits is {}",
        who, window, overlap, axis, to_string(data), design.count, design.covered, instead);
  }
  return {axis, window, overlap, design.count};
}

/// The windows along each axis, checked against the operator.
template <Scalar D, Scalar R>
std::vector<WindowsAlong> all_windows(const Layout& data, const LinearOperator<D, R>& a,
                                      std::vector<int> axes, const WindowOptions& options,
                                      const char* who) {
  detail::require_enumerator(options.taper, Taper::none, who, "Taper");
  require(!axes.empty(), "{}: there is no axis with windows", who);
  axes = detail::distinct_axes(std::move(axes), data.ndim(), who);
  std::vector<WindowsAlong> windows;
  Shape window = data.shape();
  index_t total = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const index_t extent = detail::value_for_axis(options.window, i, axes.size(), "window", who);
    const index_t overlap = detail::value_for_axis(options.overlap, i, axes.size(), "overlap", who);
    windows.push_back(windows_along(data.shape(), axes[i], extent, overlap, options.taper, who));
    window = window.with(axes[i], extent);
    total *= windows.back().total;
  }
  require(a.domain().comm().size() == 1 && a.range().comm().size() == 1 && !a.domain().is_stack() &&
              !a.range().is_stack() && a.domain().device() == data.device() &&
              a.range().device() == data.device(),
          "{}: the operator of a window must be on local layouts on {}, but {} is from {} to {}",
          who, to_string(data.device()), a.name(), to_string(a.domain()), to_string(a.range()));
  require(a.range().count() == window.count(),
          "{}: a window is {}, but {} returns {}, which has {} elements and not {}", who,
          to_string(window), a.name(), to_string(a.range().shape()), a.range().count(),
          window.count());
  const int dims = static_cast<int>(axes.size()) + a.domain().ndim();
  require(dims <= max_dims, "{}: the model would have {} axes, {} of windows and those of {}", who,
          dims, axes.size(), to_string(a.domain().shape()));
  require(options.scalings.empty() || static_cast<index_t>(options.scalings.size()) == total,
          "{}: got {} scalings for {} windows", who, options.scalings.size(), total);
  for (std::size_t i = 0; i < options.scalings.size(); ++i) {
    require(std::isfinite(options.scalings[i]), "{}: scaling {} is {}, but must be finite", who, i,
            options.scalings[i]);
  }
  return windows;
}

/// What a factory expects of its arguments.
struct Factory {
  const char* name;
  int ndim = 0;  // of the data; 0 for any
  bool all_axes = false;
};

template <Scalar D, Scalar R>
LinearOperator<D, R> make_sliding(const Layout& data, const LinearOperator<D, R>& a,
                                  std::vector<int> axes, const WindowOptions& options,
                                  const Factory& factory) {
  const auto& [who, ndim, all_axes] = factory;
  detail::agree_on_plan(who, {&data}, dtype_of<R>, text_of(a, axes, options));
  require(!data.is_stack() && (ndim == 0 || data.ndim() == ndim),
          "{}: expected an array{}, but the data is {}", who,
          ndim == 0 ? "" : fmt::format(" with {} axes", ndim), to_string(data));
  if (all_axes) {
    axes.resize(static_cast<std::size_t>(data.ndim()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  WindowPlan plan(data, all_windows(data, a, std::move(axes), options, who), a.domain().shape(),
                  who);
  return make_operator<Sliding<D, R>>(who, std::move(plan), a, options);
}

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> sliding(const Layout& data, const LinearOperator<D, R>& a,
                             const std::vector<int>& axes, const WindowOptions& options) {
  return make_sliding(data, a, axes, options, {"sliding"});
}
template <Scalar D, Scalar R>
LinearOperator<D, R> patch(const Layout& data, const LinearOperator<D, R>& a,
                           const WindowOptions& options) {
  return make_sliding(data, a, {}, options, {.name = "patch", .all_axes = true});
}
template <Scalar D, Scalar R>
LinearOperator<D, R> sliding1d(const Layout& data, const LinearOperator<D, R>& a,
                               const WindowOptions& options) {
  return make_sliding(data, a, {0}, options, {"sliding1d", 1});
}
template <Scalar D, Scalar R>
LinearOperator<D, R> sliding2d(const Layout& data, const LinearOperator<D, R>& a,
                               const WindowOptions& options) {
  return make_sliding(data, a, {0}, options, {"sliding2d", 2});
}
template <Scalar D, Scalar R>
LinearOperator<D, R> sliding3d(const Layout& data, const LinearOperator<D, R>& a,
                               const WindowOptions& options) {
  return make_sliding(data, a, {0, 1}, options, {"sliding3d", 3});
}
template <Scalar D, Scalar R>
LinearOperator<D, R> patch2d(const Layout& data, const LinearOperator<D, R>& a,
                             const WindowOptions& options) {
  return make_sliding(data, a, {0, 1}, options, {"patch2d", 2});
}
template <Scalar D, Scalar R>
LinearOperator<D, R> patch3d(const Layout& data, const LinearOperator<D, R>& a,
                             const WindowOptions& options) {
  return make_sliding(data, a, {0, 1, 2}, options, {"patch3d", 3});
}

#define INSTANTIATE(D, R)                                                               \
  template LinearOperator<D, R> sliding(const Layout&, const LinearOperator<D, R>&,     \
                                        const std::vector<int>&, const WindowOptions&); \
  template LinearOperator<D, R> patch(const Layout&, const LinearOperator<D, R>&,       \
                                      const WindowOptions&);                            \
  template LinearOperator<D, R> sliding1d(const Layout&, const LinearOperator<D, R>&,   \
                                          const WindowOptions&);                        \
  template LinearOperator<D, R> sliding2d(const Layout&, const LinearOperator<D, R>&,   \
                                          const WindowOptions&);                        \
  template LinearOperator<D, R> sliding3d(const Layout&, const LinearOperator<D, R>&,   \
                                          const WindowOptions&);                        \
  template LinearOperator<D, R> patch2d(const Layout&, const LinearOperator<D, R>&,     \
                                        const WindowOptions&);                          \
  template LinearOperator<D, R> patch3d(const Layout&, const LinearOperator<D, R>&,     \
                                        const WindowOptions&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
