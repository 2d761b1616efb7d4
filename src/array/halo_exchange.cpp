#include <weft/array/halo_exchange.hpp>

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/checks.hpp"
#include "array/halo_plan.hpp"
#include "array/halo_transfer.hpp"
#include "array/plan_agreement.hpp"
#include "array/strides.hpp"
#include "array/vector_kernels.hpp"
#include "core/on_error.hpp"
#include "core/option_checks.hpp"

namespace weft {
namespace {

/// Ranks compare their arguments before they check them, so that all of them throw.
const Layout& agreed(const Layout& layout, DType dtype, const std::vector<AxisPadding>& widths,
                     const HaloOptions& options) {
  detail::agree_on_plan("HaloExchange", {&layout}, dtype, detail::text_of(widths, options));
  return layout;
}

}  // namespace

/// Runs the passes of a plan in order. Without corners, all passes are in flight at once.
template <Scalar T>
class HaloExchange<T>::State {
 public:
  State(const Layout& layout, const std::vector<AxisPadding>& widths, HaloOptions options)
      : plan_(agreed(layout, dtype_of<T>, widths, options), widths, options), transfer_(plan_) {}

  void start(const ConstArrayView<T>& x) {
    detail::require_equal(x.layout(), plan_.layout, "HaloExchange::start");
    require(!started_, "HaloExchange::start: called again before finish()");
    array_ = x.data();
    begun_ = 0;
    started_ = true;
    const detail::OnError guard([this] { abandon(); });
    begin_passes();
  }

  void finish() {
    require(started_, "HaloExchange::finish: called without start()");
    const detail::OnError guard([this] { abandon(); });
    for (const detail::HaloPass& pass : plan_.passes) {
      if (pass.axis == begun_) begin_passes();
      if (pass.has_messages()) transfer_.end(pass.axis);
    }
    array_ = nullptr;
    started_ = false;
  }

  void abandon() noexcept {
    for (const detail::HaloPass& pass : plan_.passes) transfer_.abandon(pass.axis);
    array_ = nullptr;
    started_ = false;
  }

  void run_adjoint(const ArrayView<T>& x) {
    detail::require_equal(x.layout(), plan_.layout, "HaloExchange::run_adjoint");
    require(!started_, "HaloExchange::run_adjoint: called between start() and finish()");
    for (int axis = ndim() - 1; axis >= 0; --axis) transfer_.run_adjoint(axis, x.data());
  }

  const Layout& layout() const { return plan_.layout; }
  AxisPadding width(int axis) const { return plan_.widths[static_cast<std::size_t>(valid(axis))]; }
  index_t message_count() const {
    index_t count = 0;
    for (const detail::HaloPass& pass : plan_.passes) count += std::ssize(pass.outgoing);
    return count;
  }

  T* writable_ghosts(int axis, Side side) {
    return transfer_.writable_ghosts(valid(axis), valid(side));
  }
  const T* ghosts(int axis, Side side) const { return transfer_.ghosts(valid(axis), valid(side)); }
  const Shape& ghost_shape(int axis, Side side) const {
    return plan_.passes[static_cast<std::size_t>(valid(axis))].ghost_shape(valid(side));
  }

  PaddedPart<T> padded(const ConstArrayView<T>& x) const;

 private:
  int ndim() const { return plan_.layout.ndim(); }
  int valid(int axis) const { return normalize_axis(axis, ndim(), "HaloExchange"); }
  static Side valid(Side side) {
    detail::require_enumerator(side, Side::after, "HaloExchange", "side");
    return side;
  }

  /// With corners, an axis needs the ghost cells of those before it: passes are begun up to the
  /// first that waits for messages.
  void begin_passes() {
    while (begun_ < ndim()) {
      const detail::HaloPass& pass = plan_.passes[static_cast<std::size_t>(begun_++)];
      transfer_.begin(pass.axis, array_);
      if (!pass.has_messages()) {
        transfer_.end(pass.axis);
      } else if (plan_.options.corners) {
        return;
      }
    }
  }

  detail::HaloPlan plan_;
  detail::HaloTransfer<T> transfer_;
  const T* array_ = nullptr;
  bool started_ = false;
  int begun_ = 0;  // number of passes
};

template <Scalar T>
PaddedPart<T> HaloExchange<T>::State::padded(const ConstArrayView<T>& x) const {
  detail::require_equal(x.layout(), plan_.layout, "HaloExchange::padded");
  PaddedPart<T> part{plan_.layout.box(), Buffer<T>()};
  const Shape& local = plan_.local;
  if (local.count() == 0) return part;
  Index extent = local;
  Index origin = Index::filled(ndim(), 0);
  for (int axis = 0; axis < ndim(); ++axis) {
    const AxisPadding width = this->width(axis);
    origin[axis] = width.before;
    extent[axis] += width.before + width.after;
    part.box.offset[axis] -= width.before;
  }
  part.box.shape = Shape(extent);
  part.data = Buffer<T>(part.box.shape.count(), plan_.layout.device());
  const Index strides = detail::strides_of(part.box.shape);
  const auto copy_to = [&](const Index& corner, const Shape& shape, const T* from) {
    dispatch(plan_.layout.device(), [&](auto device) {
      kernels::copy_box(device, shape, kernel_cast(from), detail::strides_of(shape),
                        kernel_cast(part.data.data() + detail::offset_at(strides, corner)),
                        strides);
    });
  };
  dispatch(plan_.layout.device(), [&](auto device) {
    kernels::fill(device, part.data.size(), KernelType<T>{}, kernel_cast(part.data.data()));
  });
  copy_to(origin, local, x.data());
  for (const detail::HaloPass& pass : plan_.passes) {
    for (const Side side : {Side::before, Side::after}) {
      const Shape& shape = pass.ghost_shape(side);
      if (shape.count() == 0) continue;
      Index corner = origin;
      for (int axis = 0; axis < pass.axis; ++axis) corner[axis] -= pass.origin[axis];
      corner[pass.axis] = side == Side::before ? 0 : origin[pass.axis] + local[pass.axis];
      copy_to(corner, shape, transfer_.ghosts(pass.axis, side));
    }
  }
  return part;
}

template <Scalar T>
HaloExchange<T>::HaloExchange(const Layout& layout, const std::vector<AxisPadding>& widths,
                              HaloOptions options)
    : state_(std::make_unique<State>(layout, widths, options)) {}
template <Scalar T>
HaloExchange<T>::HaloExchange(HaloExchange&&) noexcept = default;
template <Scalar T>
HaloExchange<T>& HaloExchange<T>::operator=(HaloExchange&&) noexcept = default;
template <Scalar T>
HaloExchange<T>::~HaloExchange() = default;

template <Scalar T>
typename HaloExchange<T>::State& HaloExchange<T>::state() const {
  require(state_ != nullptr, "the HaloExchange has been moved from");
  return *state_;
}
template <Scalar T>
const Layout& HaloExchange<T>::layout() const {
  return state().layout();
}
template <Scalar T>
AxisPadding HaloExchange<T>::width(int axis) const {
  return state().width(axis);
}
template <Scalar T>
index_t HaloExchange<T>::message_count() const {
  return state().message_count();
}
template <Scalar T>
void HaloExchange<T>::start(const ConstArrayView<T>& x) {
  state().start(x);
}
template <Scalar T>
void HaloExchange<T>::finish() {
  state().finish();
}
template <Scalar T>
void HaloExchange<T>::abandon() noexcept {
  if (state_ != nullptr) state_->abandon();
}
template <Scalar T>
void HaloExchange<T>::run_adjoint(const ArrayView<T>& x) {
  state().run_adjoint(x);
}
template <Scalar T>
T* HaloExchange<T>::ghosts(int axis, Side side) {
  return state().writable_ghosts(axis, side);
}
template <Scalar T>
const T* HaloExchange<T>::ghosts(int axis, Side side) const {
  return state().ghosts(axis, side);
}
template <Scalar T>
const Shape& HaloExchange<T>::ghost_shape(int axis, Side side) const {
  return state().ghost_shape(axis, side);
}
template <Scalar T>
PaddedPart<T> HaloExchange<T>::padded(const ConstArrayView<T>& x) const {
  return state().padded(x);
}

#define INSTANTIATE(T) template class HaloExchange<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
