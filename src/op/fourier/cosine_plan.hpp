#pragma once

// Local cosine transforms behind one interface: FFTW (fftw_cosine_plan.cpp), and Fourier transforms
// of any device (fft_cosine_plan.cpp). local_dct.cpp chooses.

#include <weft/core/device.hpp>
#include <weft/core/scalars.hpp>
#include <weft/op/fourier/fft.hpp>

#include "op/axis_extents.hpp"

#include <concepts>
#include <memory>

namespace weft::detail {

/// An orthonormal cosine transform along the middle axis of real arrays [outer, n, inner].
template <std::floating_point F>
class CosinePlan {
 public:
  CosinePlan() = default;
  CosinePlan(const CosinePlan&) = delete;
  CosinePlan& operator=(const CosinePlan&) = delete;
  virtual ~CosinePlan() = default;

  /// x and y do not overlap.
  virtual void run(const F* x, F* y) = 0;
};

/// Plans for arrays that are not empty, on the CPU.
template <std::floating_point F>
std::unique_ptr<CosinePlan<F>> make_fftw_cosine_plan(int type, const AxisExtents& extents,
                                                     FftPlanning planning);
/// The same on any device that has Fourier transforms. Costs one real FFT of n elements (types 2
/// and 3) or 2n - 2 elements (type 1), or a complex one of 2n (type 4), and two passes.
template <std::floating_point F>
std::unique_ptr<CosinePlan<F>> make_fft_cosine_plan(Device device, int type,
                                                    const AxisExtents& extents,
                                                    FftPlanning planning);

}  // namespace weft::detail
