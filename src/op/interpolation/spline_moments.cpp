#include "op/interpolation/spline_moments.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/stencil/second_derivative.hpp>

#include "op/axis_extents.hpp"
#include "op/interpolation/spline_kernels.hpp"
#include "op/to_device.hpp"

#include <fmt/core.h>

#include <utility>

namespace weft::detail {
namespace {

/// y = A⁻¹ x for the tridiagonal matrix A with 4 on the diagonal and 1 beside it, between the ends
/// of the axis, where y = 0. A is symmetric, so that the adjoint is the same.
template <Scalar T>
class SplineSolve final : public OperatorNode<T> {
 public:
  SplineSolve(const Layout& layout, int axis)
      : OperatorNode<T>(fmt::format("spline solve along axis {}", axis), layout, layout),
        extents_(layout.box().shape, axis),
        eliminated_(layout.local_count(), layout.device()) {
    // 1 / u converges to 2 - sqrt(3); after so many rows it is exact in double precision.
    constexpr int rows = 32;
    std::vector<Real<T>> inverses;
    double inverse = 0;
    for (int i = 0; i < rows; ++i) {
      inverse = 1 / (4 - inverse);
      inverses.push_back(static_cast<Real<T>>(inverse));
    }
    inverses_ = to_device<Real<T>>(inverses, layout.device());
  }

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    if (x.local_count() == 0) return;
    const kernels::SplineSystem<KernelType<T>> system{extents_.outer, extents_.n, extents_.inner,
                                                      inverses_.data(), inverses_.size()};
    dispatch(y.device(), [&](auto device) {
      kernels::eliminate_spline(device, system, kernel_cast(x.data()),
                                kernel_cast(eliminated_.data()));
      kernels::substitute_spline(device, system, kernel_cast(std::as_const(eliminated_).data()),
                                 kernel_value(update.alpha), kernel_value(update.beta),
                                 kernel_cast(y.data()));
    });
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    forward(y, x, update);
  }
  Cost cost() const override {
    const auto elements = static_cast<double>(this->domain().local_count());
    return {.flops = elements * (is_complex<T> ? 8 : 4), .bytes = 4 * elements * sizeof(T)};
  }

 private:
  AxisExtents extents_;
  Buffer<Real<T>> inverses_;
  mutable Buffer<T> eliminated_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> spline_moments(const Layout& layout, int axis) {
  return make_operator<SplineSolve<T>>(layout, axis) * second_derivative<T>(layout, {.axis = axis});
}

#define INSTANTIATE(T) template LinearOperator<T> spline_moments<T>(const Layout&, int);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
