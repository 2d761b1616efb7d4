// Local cosine transforms by FFTW.

#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/parallel.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/strides.hpp"
#include "op/basic/diagonal_kernels.hpp"
#include "op/fourier/cosine_plan.hpp"
#include "op/fourier/fftw_api.hpp"
#include "op/fourier/fourier_plan.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace weft::detail {
namespace {

fftw_r2r_kind kind_of(int type) {
  switch (type) {
    case 1: return FFTW_REDFT00;
    case 2: return FFTW_REDFT10;
    case 3: return FFTW_REDFT01;
    default: return FFTW_REDFT11;
  }
}

/// FFTW computes y[k] = 2 sum over j of s[j] x[j] cos(...), where s is 1/2 at position 0 of types 1
/// and 3 and at position n - 1 of type 1. Factors on both sides make the transform orthonormal.
template <std::floating_point F>
class FftwCosinePlan final : public CosinePlan<F> {
  using Api = Fftw<F>;
  using Plan = typename Api::Plan;

 public:
  FftwCosinePlan(int type, const AxisExtents& extents, FftPlanning planning)
      : type_(type),
        shape_{extents.outer, extents.n, extents.inner},
        planning_(planning),
        input_factors_(extents.n, Device::cpu()) {
    const index_t n = extents.n;
    const double factor = 1 / std::sqrt(2.0 * static_cast<double>(type == 1 ? n - 1 : n));
    for (index_t j = 0; j < n; ++j) {
      const bool at_end = (j == 0 && (type == 1 || type == 3)) || (j == n - 1 && type == 1);
      input_factors_.data()[j] = static_cast<F>(at_end ? factor * std::numbers::sqrt2 : factor);
    }
    aligned_ = make_plan(0);
  }

  void run(const F* x, F* y) override {
    const index_t n = shape_[1];
    dispatch(Device::cpu(), [&](auto device) {
      kernels::multiply_along(device, shape_[0], n, shape_[2], F{1},
                              std::as_const(input_factors_).data(), x, F{}, y);
    });
    Api::run_cosine(plan_for(y), y, y);
    if (type_ == 1 || type_ == 2) scale_row(0, y);
    if (type_ == 1) scale_row(n - 1, y);
  }

 private:
  struct Destroy {
    void operator()(Plan plan) const {
      const std::scoped_lock lock(fftw_planner);
      Api::destroy(plan);
    }
  };
  using OwnedPlan = std::unique_ptr<std::remove_pointer_t<Plan>, Destroy>;

  void scale_row(index_t row, F* y) const {
    dispatch(Device::cpu(), [&](auto device) {
      kernels::scale_box(device, shape_.with(1, 1), 1 / std::numbers::sqrt2_v<F>,
                         y + row * shape_[2], strides_of(shape_));
    });
  }
  /// Plans require the alignment of the arrays they were made for; lent memory may have less.
  Plan plan_for(F* y) {
    if (Api::alignment_of(y) == 0) return aligned_.get();
    if (!unaligned_) unaligned_ = make_plan(FFTW_UNALIGNED);
    return unaligned_.get();
  }
  OwnedPlan make_plan(unsigned alignment) const {
    using Dim = typename Api::Dim;
    const Index strides = strides_of(shape_);
    const auto dim = [&](int axis) {
      const auto stride = static_cast<std::ptrdiff_t>(strides[axis]);
      return Dim{static_cast<std::ptrdiff_t>(shape_[axis]), stride, stride};
    };
    const Dim along = dim(1);
    const Dim others[] = {dim(0), dim(2)};
    const fftw_r2r_kind kind = kind_of(type_);
    const unsigned flags =
        alignment | (planning_ == FftPlanning::measure ? FFTW_MEASURE : FFTW_ESTIMATE);
    Buffer<F> memory(shape_.count(), Device::cpu());
    const std::scoped_lock lock(fftw_planner);
    const PlannerThreads<F> threads(threads_for(shape_.count()));
    OwnedPlan plan(
        Api::plan_cosine(1, &along, 2, others, memory.data(), memory.data(), &kind, flags));
    require(plan != nullptr, "dct: FFTW failed to create a plan");
    return plan;
  }

  int type_;
  Shape shape_;
  FftPlanning planning_;
  Buffer<F> input_factors_;
  OwnedPlan aligned_;
  OwnedPlan unaligned_;  // created when first needed
};

}  // namespace

template <std::floating_point F>
std::unique_ptr<CosinePlan<F>> make_fftw_cosine_plan(int type, const AxisExtents& extents,
                                                     FftPlanning planning) {
  return std::make_unique<FftwCosinePlan<F>>(type, extents, planning);
}

#define INSTANTIATE(F)                                                                      \
  template std::unique_ptr<CosinePlan<F>> make_fftw_cosine_plan<F>(int, const AxisExtents&, \
                                                                   FftPlanning);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::detail
