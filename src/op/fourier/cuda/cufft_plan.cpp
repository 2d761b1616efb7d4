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
  throw DeviceError(fmt::format("{}: error {} of cuFFT", call, static_cast<int>(code)));
}

/// What cuFFT calls the transforms of one precision.
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

/// A plan for lines of n elements, of which there are `x_n` and `y_n` in a line of the input and of
/// the output: all lines of an array at once if they lie one after the other, else those of one
/// outer index.
class LinesPlan {
 public:
  LinesPlan(const AxisExtents& lines, index_t from_n, index_t to_n, cufftType type) {
    const bool all = lines.inner == 1;
    long long n = lines.n;
    long long from_embed = from_n;
    long long to_embed = to_n;
    std::size_t work_bytes = 0;
    cufft_check(cufftCreate(&handle_), "cufftCreate");
    const cufftResult made = cufftMakePlanMany64(
        handle_, 1, &n, &from_embed, lines.inner, all ? from_n : 1, &to_embed, lines.inner,
        all ? to_n : 1, type, all ? lines.outer : lines.inner, &work_bytes);
    if (made != CUFFT_SUCCESS) cufftDestroy(handle_);
    cufft_check(made, "cufftMakePlanMany64");
  }
  LinesPlan(LinesPlan&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  LinesPlan& operator=(LinesPlan&&) = delete;
  ~LinesPlan() {
    if (handle_ != 0) cufftDestroy(handle_);
  }

  /// On the stream of this thread, which need not be the one that made the plan.
  cufftHandle on(const Stream& stream) const {
    cufft_check(cufftSetStream(handle_, static_cast<cudaStream_t>(stream.handle())),
                "cufftSetStream");
    return handle_;
  }

 private:
  cufftHandle handle_ = 0;
};

/// f(outer index) for as many calls as lines need.
template <class F>
void for_each_call(const AxisExtents& lines, F f) {
  const index_t calls = lines.inner == 1 ? 1 : lines.outer;
  for (index_t o = 0; o < calls; ++o) f(o);
}

template <Scalar C>
class ComplexPlan final : public FourierPlan<C> {
  using Api = Cufft<Real<C>>;
  using Number = typename Api::Complex;

 public:
  ComplexPlan(Device device, const Shape& shape, const std::vector<int>& axes) : device_(device) {
    for (const int axis : axes) {
      const AxisExtents lines(shape, axis);
      steps_.push_back({lines, LinesPlan(lines, lines.n, lines.n, Api::types[0])});
    }
  }

  void forward(const C* x, C* y) override { run(x, y, CUFFT_FORWARD); }
  void backward(const C* y, C* x) override { run(y, x, CUFFT_INVERSE); }

 private:
  struct Step {
    AxisExtents lines;
    LinesPlan plan;
  };

  /// The first axis from one array to the other, the rest in place.
  void run(const C* from, C* to, int sign) {
    const Stream stream = Stream::current(device_);
    for (const Step& step : steps_) {
      const cufftHandle plan = step.plan.on(stream);
      for_each_call(step.lines, [&](index_t o) {
        const index_t offset = o * step.lines.n * step.lines.inner;
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
        lines_(shape, axis),
        count_(lines_.n / 2 + 1),
        forward_(lines_, lines_.n, count_, Api::types[1]),
        backward_(lines_, count_, lines_.n, Api::types[2]),
        slab_(slab_count(), device) {}

  void forward(const F* x, C* y) override {
    const Stream stream = Stream::current(device_);
    const cufftHandle plan = forward_.on(stream);
    for_each_call(lines_, [&](index_t o) {
      const F* from = x + o * slab_count();
      if (!is_aligned(from)) {
        copy(slab_.data(), from, stream);
        from = slab_.data();
      }
      cufft_check(Api::run_forward(plan, fft_input(from), number(y, o)), "cufftExec");
    });
  }
  void backward(C* y, F* x) override {
    const Stream stream = Stream::current(device_);
    const cufftHandle plan = backward_.on(stream);
    for_each_call(lines_, [&](index_t o) {
      F* to = x + o * slab_count();
      const bool direct = is_aligned(to);
      cufft_check(Api::run_backward(plan, number(y, o), direct ? to : slab_.data()), "cufftExec");
      if (!direct) copy(to, slab_.data(), stream);
    });
  }

 private:
  /// Real numbers of one call.
  index_t slab_count() const {
    return lines_.inner == 1 ? lines_.outer * lines_.n : lines_.n * lines_.inner;
  }
  Number* number(C* y, index_t o) const {
    return reinterpret_cast<Number*>(y + o * count_ * lines_.inner);
  }
  /// cuFFT wants real numbers aligned like complex ones.
  static bool is_aligned(const F* data) {
    return reinterpret_cast<std::uintptr_t>(data) % sizeof(C) == 0;
  }
  void copy(F* to, const F* from, const Stream& stream) const {
    cuda_check(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(slab_count()) * sizeof(F),
                        cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream.handle())),
        "cudaMemcpyAsync");
  }

  Device device_;
  AxisExtents lines_;
  index_t count_;
  LinesPlan forward_;
  LinesPlan backward_;
  Buffer<F> slab_;
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
