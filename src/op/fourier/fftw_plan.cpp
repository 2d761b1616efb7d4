// Local Fourier transforms by FFTW.

#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/parallel.hpp>

#include "array/strides.hpp"
#include "op/fourier/fftw_api.hpp"
#include "op/fourier/fourier_plan.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

/// Plans for both directions.
template <class F>
class PlanPair {
 public:
  using Plan = typename Fftw<F>::Plan;

  template <class Make>
  explicit PlanPair(Make make) {
    const std::scoped_lock lock(fftw_planner);
    forward_.reset(make(FFTW_FORWARD));
    backward_.reset(make(FFTW_BACKWARD));
    require(forward_ != nullptr && backward_ != nullptr, "fft: FFTW failed to create a plan");
  }

  Plan forward() const { return forward_.get(); }
  Plan backward() const { return backward_.get(); }

 private:
  struct Destroy {
    void operator()(Plan plan) const {
      const std::scoped_lock lock(fftw_planner);
      Fftw<F>::destroy(plan);
    }
  };
  using OwnedPlan = std::unique_ptr<std::remove_pointer_t<Plan>, Destroy>;

  OwnedPlan forward_;
  OwnedPlan backward_;
};

template <Scalar X>
class FftwPlan final : public FourierPlan<X> {
  using F = Real<X>;
  using Api = Fftw<F>;
  using Y = Spectrum<X>;

 public:
  FftwPlan(const Shape& shape, const std::vector<int>& axes, FftPlanning planning)
      : x_count_(shape.count()), planning_(planning) {
    Shape spectrum = shape;
    if (!is_complex<X>) spectrum = shape.with(axes[0], shape[axes[0]] / 2 + 1);
    y_count_ = spectrum.count();
    const Index x_strides = strides_of(shape);
    const Index y_strides = strides_of(spectrum);
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      const bool along = std::find(axes.begin(), axes.end(), axis) != axes.end();
      auto& list = along ? dims_ : others_;
      list.push_back({static_cast<std::ptrdiff_t>(shape[axis]),
                      static_cast<std::ptrdiff_t>(x_strides[axis]),
                      static_cast<std::ptrdiff_t>(y_strides[axis])});
    }
    aligned_ = make_plans(0);
  }

  void forward(const X* x, Y* y) override {
    const auto plan = plans_for(x, y).forward();
    if constexpr (is_complex<X>) {
      Api::run_complex(plan, fftw(x), fftw(y));
    } else {
      Api::run_forward(plan, fftw(x), fftw(y));
    }
  }
  void backward(BackwardInput<X>* y, X* x) override {
    const auto plan = plans_for(x, y).backward();
    if constexpr (is_complex<X>) {
      Api::run_complex(plan, fftw(y), fftw(x));
    } else {
      Api::run_backward(plan, fftw(y), fftw(x));
    }
  }

 private:
  static auto* fftw(const Y* data) {
    return reinterpret_cast<typename Api::Complex*>(fft_input(data));
  }
  static F* fftw(const F* data) { return fft_input(data); }

  /// Plans require the alignment of the arrays they were made for; lent memory may have less.
  const PlanPair<F>& plans_for(const X* x, const Y* y) {
    const auto is_aligned = [](const auto* data) {
      return Api::alignment_of(fft_input(reinterpret_cast<const F*>(data))) == 0;
    };
    if (is_aligned(x) && is_aligned(y)) return *aligned_;
    if (!unaligned_) unaligned_ = make_plans(FFTW_UNALIGNED);
    return *unaligned_;
  }

  std::unique_ptr<PlanPair<F>> make_plans(unsigned alignment) const {
    Buffer<X> x(x_count_, Device::cpu());
    Buffer<Y> y(y_count_, Device::cpu());
    const auto rank = static_cast<int>(dims_.size());
    const auto other_rank = static_cast<int>(others_.size());
    const unsigned flags =
        alignment | (planning_ == FftPlanning::measure ? FFTW_MEASURE : FFTW_ESTIMATE);
    return std::make_unique<PlanPair<F>>([&](int sign) {
      const PlannerThreads<F> threads(threads_for(x_count_));
      if constexpr (is_complex<X>) {
        const unsigned keep_input = flags | FFTW_PRESERVE_INPUT;
        auto* from = fftw(sign == FFTW_FORWARD ? x.data() : y.data());
        auto* to = fftw(sign == FFTW_FORWARD ? y.data() : x.data());
        return Api::plan_complex(rank, dims_.data(), other_rank, others_.data(), from, to, sign,
                                 keep_input);
      } else if (sign == FFTW_FORWARD) {
        return Api::plan_forward(rank, dims_.data(), other_rank, others_.data(), fftw(x.data()),
                                 fftw(y.data()), flags | FFTW_PRESERVE_INPUT);
      } else {
        std::vector<Dim> dims = reversed(dims_);
        std::vector<Dim> others = reversed(others_);
        return Api::plan_backward(rank, dims.data(), other_rank, others.data(), fftw(y.data()),
                                  fftw(x.data()), flags | FFTW_DESTROY_INPUT);
      }
    });
  }

  using Dim = typename Api::Dim;
  /// Swaps input and output strides.
  static std::vector<Dim> reversed(std::vector<Dim> dims) {
    for (Dim& dim : dims) std::swap(dim.is, dim.os);
    return dims;
  }

  index_t x_count_;
  index_t y_count_ = 0;
  FftPlanning planning_;
  std::vector<Dim> dims_;
  std::vector<Dim> others_;
  std::unique_ptr<PlanPair<F>> aligned_;
  std::unique_ptr<PlanPair<F>> unaligned_;  // created when first needed
};

}  // namespace

template <Scalar X>
std::unique_ptr<FourierPlan<X>> make_fftw_plan(const Shape& shape, const std::vector<int>& axes,
                                               FftPlanning planning) {
  return std::make_unique<FftwPlan<X>>(shape, axes, planning);
}

#define INSTANTIATE(X)                                        \
  template std::unique_ptr<FourierPlan<X>> make_fftw_plan<X>( \
      const Shape&, const std::vector<int>&, FftPlanning);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
