#pragma once

// Local Fourier transforms behind one interface: FFTW (fftw_plan.cpp), cuFFT (cuda/cufft_plan.cpp),
// and SIMD code for odd lengths (lane_fft.cpp). fourier_plan.cpp chooses; local_fft.cpp runs them.

#include <weft/core/device.hpp>
#include <weft/core/scalars.hpp>
#include <weft/core/shape.hpp>
#include <weft/op/fourier/fft.hpp>

#include <memory>
#include <type_traits>
#include <vector>

namespace weft::detail {

/// The input of a backward transform to X. It is only read if X is complex; if X is real, it is
/// overwritten.
template <Scalar X>
using BackwardInput = std::conditional_t<is_complex<X>, const X, Spectrum<X>>;

/// FFTW and cuFFT declare all inputs as pointers to non-const. This cast is for inputs that their
/// plans do not write.
template <class T>
T* fft_input(const T* data) {
  return const_cast<T*>(data);
}

/// Unnormalized Fourier transforms of a rank's part along some of its axes. x and y do not overlap.
template <Scalar X>
class FourierPlan {
 public:
  FourierPlan() = default;
  FourierPlan(const FourierPlan&) = delete;
  FourierPlan& operator=(const FourierPlan&) = delete;
  virtual ~FourierPlan() = default;

  virtual void forward(const X* x, Spectrum<X>* y) = 0;
  /// The transform with the opposite sign in the exponent.
  virtual void backward(BackwardInput<X>* y, X* x) = 0;
};

/// A plan for x of a nonempty shape. If x is real, there is one axis, and y has its first n/2 + 1
/// frequencies.
template <Scalar X>
std::unique_ptr<FourierPlan<X>> make_fourier_plan(Device device, const Shape& shape,
                                                  const std::vector<int>& axes,
                                                  FftPlanning planning);

template <Scalar X>
std::unique_ptr<FourierPlan<X>> make_fftw_plan(const Shape& shape, const std::vector<int>& axes,
                                               FftPlanning planning);

/// Transforms of many real lines of odd length at once, one per SIMD lane.
template <std::floating_point F, class Tag>
std::unique_ptr<FourierPlan<F>> make_lane_plan(Tag tag, const Shape& shape, int axis);
/// Whether make_lane_plan supports the shape and is faster than FFTW.
template <std::floating_point F, class Tag>
bool suits_lane_fft(Tag tag, const Shape& shape, int axis);

template <Scalar X>
std::unique_ptr<FourierPlan<X>> make_cufft_plan(Device device, const Shape& shape,
                                                const std::vector<int>& axes);

/// Whether this build has transforms for the device.
bool has_fourier(Device device);
/// Throws the same error on every rank if it has none.
void require_fourier(Device device, const char* who);

}  // namespace weft::detail
