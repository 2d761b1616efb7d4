// Local Fourier transforms by cuFFT.

#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>
#include <weft/kernel/dispatch.hpp>

#include "core/cuda/cuda_check.hpp"
#include "op/axis_extents.hpp"
#include "op/fourier/fourier_plan.hpp"

#include <cufft.h>

#include <cstdint>
#include <utility>

namespace weft::detail {
namespace {

void cufft_check(cufftResult code, const char* call) {
  if (code == CUFFT_SUCCESS) [[likely]]
    return;
  throw DeviceError(fmt::format("{}: cuFFT error {}", call, static_cast<int>(code)));
}

/// The types and functions of cuFFT for one precision.
template <class F>
struct Cufft;
template <>
struct Cufft<float> {
  using Complex = cufftComplex;
  static constexpr cufftType types[] = {CUFFT_C2C, CUFFT_R2C, CUFFT_C2R};
  static constexpr auto run_complex = cufftExecC2C;
  static constexpr auto run_forward = cufftExecR2C;
  static constexpr auto run_backward = cufftExecC2R;
};
template <>
struct Cufft<double> {
  using Complex = cufftDoubleComplex;
  static constexpr cufftType types[] = {CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D};
  static constexpr auto run_complex = cufftExecZ2Z;
  static constexpr auto run_forward = cufftExecD2Z;
  static constexpr auto run_backward = cufftExecZ2D;
};

/// A cuFFT plan along one axis, for all lines of the array if they are contiguous, otherwise for
/// those of one outer index. Lines have from_n elements in the input and to_n in the output.
class AxisPlan {
 public:
  AxisPlan(const AxisExtents& extents, index_t from_n, index_t to_n, cufftType type) {
    const bool all = extents.inner == 1;
    long long n = extents.n;
    long long from_embed = from_n;
    long long to_embed = to_n;
    std::size_t work_bytes = 0;
    cufft_check(cufftCreate(&handle_), "cufftCreate");
    const cufftResult made = cufftMakePlanMany64(
        handle_, 1, &n, &from_embed, extents.inner, all ? from_n : 1, &to_embed, extents.inner,
        all ? to_n : 1, type, all ? extents.outer : extents.inner, &work_bytes);
    if (made != CUFFT_SUCCESS) cufftDestroy(handle_);
    cufft_check(made, "cufftMakePlanMany64");
  }
  AxisPlan(AxisPlan&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  AxisPlan& operator=(AxisPlan&&) = delete;
  ~AxisPlan() {
    if (handle_ != 0) cufftDestroy(handle_);
  }

  /// The handle, bound to a stream: plans may run on another thread than they were made on.
  cufftHandle on(const Stream& stream) const {
    cufft_check(cufftSetStream(handle_, static_cast<cudaStream_t>(stream.handle())),
                "cufftSetStream");
    return handle_;
  }

 private:
  cufftHandle handle_ = 0;
};

/// f(outer index) for each call that the transform takes.
template <class F>
void for_each_call(const AxisExtents& extents, F f) {
  const index_t calls = extents.inner == 1 ? 1 : extents.outer;
  for (index_t o = 0; o < calls; ++o) f(o);
}

template <Scalar C>
class ComplexPlan final : public FourierPlan<C> {
  using Api = Cufft<Real<C>>;
  using Number = typename Api::Complex;

 public:
  ComplexPlan(Device device, const Shape& shape, const std::vector<int>& axes) : device_(device) {
    for (const int axis : axes) {
      const AxisExtents extents(shape, axis);
      steps_.push_back({extents, AxisPlan(extents, extents.n, extents.n, Api::types[0])});
    }
  }

  void forward(const C* x, C* y) override { run(x, y, CUFFT_FORWARD); }
  void backward(const C* y, C* x) override { run(y, x, CUFFT_INVERSE); }

 private:
  struct Step {
    AxisExtents extents;
    AxisPlan plan;
  };

  /// Transforms the first axis from one array to the other, the rest in place.
  void run(const C* from, C* to, int sign) {
    const Stream stream = Stream::current(device_);
    for (const Step& step : steps_) {
      const cufftHandle plan = step.plan.on(stream);
      for_each_call(step.extents, [&](index_t o) {
        const index_t offset = o * step.extents.n * step.extents.inner;
        auto* input = reinterpret_cast<Number*>(fft_input(from + offset));
        auto* output = reinterpret_cast<Number*>(to + offset);
        cufft_check(Api::run_complex(plan, input, output, sign), "cufftExec");
      });
      from = to;
    }
  }

  Device device_;
  std::vector<Step> steps_;
};

template <Scalar F>
class RealPlan final : public FourierPlan<F> {
  using Api = Cufft<F>;
  using Number = typename Api::Complex;
  using C = std::complex<F>;

 public:
  RealPlan(Device device, const Shape& shape, int axis)
      : device_(device),
        extents_(shape, axis),
        count_(extents_.n / 2 + 1),
        forward_(extents_, extents_.n, count_, Api::types[1]),
        backward_(extents_, count_, extents_.n, Api::types[2]),
        aligned_copy_(call_count(), device) {}

  void forward(const F* x, C* y) override {
    const Stream stream = Stream::current(device_);
    const cufftHandle plan = forward_.on(stream);
    for_each_call(extents_, [&](index_t o) {
      const F* from = x + o * call_count();
      if (!is_aligned(from)) {
        copy(aligned_copy_.data(), from, stream);
        from = aligned_copy_.data();
      }
      cufft_check(Api::run_forward(plan, fft_input(from), number(y, o)), "cufftExec");
    });
  }
  void backward(C* y, F* x) override {
    const Stream stream = Stream::current(device_);
    const cufftHandle plan = backward_.on(stream);
    for_each_call(extents_, [&](index_t o) {
      F* to = x + o * call_count();
      const bool direct = is_aligned(to);
      cufft_check(Api::run_backward(plan, number(y, o), direct ? to : aligned_copy_.data()),
                  "cufftExec");
      if (!direct) copy(to, aligned_copy_.data(), stream);
    });
  }

 private:
  /// Real elements per call.
  index_t call_count() const {
    return extents_.inner == 1 ? extents_.outer * extents_.n : extents_.n * extents_.inner;
  }
  Number* number(C* y, index_t o) const {
    return reinterpret_cast<Number*>(y + o * count_ * extents_.inner);
  }
  /// cuFFT requires real data with the alignment of complex data.
  static bool is_aligned(const F* data) {
    return reinterpret_cast<std::uintptr_t>(data) % sizeof(C) == 0;
  }
  void copy(F* to, const F* from, const Stream& stream) const {
    cuda_check(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(call_count()) * sizeof(F),
                        cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream.handle())),
        "cudaMemcpyAsync");
  }

  Device device_;
  AxisExtents extents_;
  index_t count_;
  AxisPlan forward_;
  AxisPlan backward_;
  Buffer<F> aligned_copy_;
};

}  // namespace

template <Scalar X>
std::unique_ptr<FourierPlan<X>> make_cufft_plan(Device device, const Shape& shape,
                                                const std::vector<int>& axes) {
  // Plans belong to the current device.
  return dispatch(device, [&](auto) -> std::unique_ptr<FourierPlan<X>> {
    if constexpr (is_complex<X>) {
      return std::make_unique<ComplexPlan<X>>(device, shape, axes);
    } else {
      return std::make_unique<RealPlan<X>>(device, shape, axes[0]);
    }
  });
}

#define INSTANTIATE(X)                                                              \
  template std::unique_ptr<FourierPlan<X>> make_cufft_plan<X>(Device, const Shape&, \
                                                              const std::vector<int>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
