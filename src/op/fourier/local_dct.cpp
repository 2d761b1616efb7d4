#include "op/fourier/local_dct.hpp"

#include <weft/kernel/dispatch.hpp>

#include "op/axis_extents.hpp"
#include "op/fourier/cosine_plan.hpp"
#include "op/fourier/transform_into.hpp"

#include <fmt/core.h>

#include <cmath>

namespace weft::detail {
namespace {

/// A plan for this rank's part, or null if it is empty. Complex elements are pairs of reals.
template <Scalar T>
std::unique_ptr<CosinePlan<Real<T>>> plan_of(const Layout& layout, int axis, int type,
                                             FftPlanning planning) {
  if (layout.local_count() == 0) return nullptr;
  AxisExtents extents(layout.box().shape, axis);
  if (is_complex<T>) extents.inner *= 2;
#if defined(WEFT_WITH_FFTW)
  if (layout.device().kind == DeviceKind::cpu) {
    return make_fftw_cosine_plan<Real<T>>(type, extents, planning);
  }
#endif
  return make_fft_cosine_plan<Real<T>>(layout.device(), type, extents, planning);
}

/// The type of the adjoint, which is also the inverse.
int adjoint_type(int type) { return type == 2 || type == 3 ? 5 - type : type; }

template <Scalar T>
class LocalDct final : public OperatorNode<T> {
  using F = Real<T>;
  using Plan = CosinePlan<F>;

 public:
  LocalDct(const Layout& layout, int axis, int type, FftPlanning planning)
      : OperatorNode<T>(fmt::format("dct {} of axis {}", type, axis), layout, layout),
        n_(layout.shape()[axis]),
        forward_(plan_of<T>(layout, axis, type, planning)),
        adjoint_(adjoint_type(type) == type
                     ? forward_
                     : plan_of<T>(layout, axis, adjoint_type(type), planning)),
        spare_(layout, uninitialized) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    run(forward_.get(), x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    run(adjoint_.get(), y, x, update);
  }
  Cost cost() const override {
    const auto reals = static_cast<double>(this->domain().local_count() * (is_complex<T> ? 2 : 1));
    return {.flops = 2.5 * reals * std::log2(static_cast<double>(n_)),
            .bytes = 4 * sizeof(F) * reals};
  }

 private:
  void run(Plan* plan, const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const {
    if (plan == nullptr) return;
    transform_into(y, spare_, update, [&](const ArrayView<T>& to) {
      plan->run(reinterpret_cast<const F*>(x.data()), reinterpret_cast<F*>(to.data()));
    });
  }

  index_t n_;
  std::shared_ptr<Plan> forward_;
  std::shared_ptr<Plan> adjoint_;
  mutable DistributedArray<T> spare_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> local_dct(const Layout& layout, int axis, int type, FftPlanning planning) {
  return make_operator<LocalDct<T>>(layout, axis, type, planning);
}

#define INSTANTIATE(T) \
  template LinearOperator<T> local_dct<T>(const Layout&, int, int, FftPlanning);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
