#include "op/fourier/fourier_plan.hpp"

#include <weft/core/error.hpp>
#include <weft/kernel/dispatch.hpp>

#include <concepts>

namespace weft::detail {
namespace {

#if defined(WEFT_WITH_FFTW)
constexpr bool with_fftw = true;
#else
constexpr bool with_fftw = false;
#endif
#if defined(WEFT_WITH_CUDA)
constexpr bool with_cufft = true;
#else
constexpr bool with_cufft = false;
#endif

}  // namespace

bool has_fourier(Device device) { return with_fftw || device.kind == DeviceKind::cuda; }

void require_fourier(Device device, const char* who) {
  require_available(device);
  if (has_fourier(device)) return;
  throw DeviceError(fmt::format(
      "{}: this build of weft has no FFTW. Install it (on Debian or Ubuntu: libfftw3-dev) and "
      "reconfigure with -D WEFT_FFTW=ON.",
      who));
}

template <Scalar X>
std::unique_ptr<FourierPlan<X>> make_fourier_plan(Device device, const Shape& shape,
                                                  const std::vector<int>& axes,
                                                  FftPlanning planning) {
  require_fourier(device, "fft");
  if constexpr (with_cufft) {
    if (device.kind == DeviceKind::cuda) return make_cufft_plan<X>(device, shape, axes);
  }
  if constexpr (with_fftw && !is_complex<X>) {
    auto lanes = dispatch(Device::cpu(), [&](auto tag) -> std::unique_ptr<FourierPlan<X>> {
      if constexpr (std::derived_from<decltype(tag), Cpu>) {
        if (axes.size() == 1 && suits_lane_fft<X>(tag, shape, axes[0])) {
          return make_lane_plan<X>(tag, shape, axes[0]);
        }
      }
      return nullptr;
    });
    if (lanes != nullptr) return lanes;
  }
  if constexpr (with_fftw) return make_fftw_plan<X>(shape, axes, planning);
  return nullptr;
}

#define INSTANTIATE(X)                                           \
  template std::unique_ptr<FourierPlan<X>> make_fourier_plan<X>( \
      Device, const Shape&, const std::vector<int>&, FftPlanning);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
