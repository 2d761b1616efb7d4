#include <weft/op/basic/redistribute.hpp>
#include <weft/op/fourier/fft.hpp>

#include "op/axis_layout.hpp"
#include "op/radon/phase_sum.hpp"

namespace weft::detail {
namespace {

template <std::floating_point R>
LinearOperator<R, std::complex<R>> time_transform(const Layout& layout, index_t nfft) {
  return fftnd<R>(layout, {.axes = {-1}, .nfft = {nfft}, .transposed = true});
}

}  // namespace

template <std::floating_point R>
SpectralSteps<R>::SpectralSteps(const Layout& layout, index_t nfft)
    : layout_(layout), nfft_(nfft), steps_(time_transform<R>(layout, nfft)) {}

template <std::floating_point R>
const Layout& SpectralSteps<R>::layout_for(int axis) {
  if (!is_undistributed(steps_.range(), axis)) {
    const Layout moved = gather_axis(steps_.range(), axis);
    steps_ = redistribute<C>(steps_.range(), moved) * steps_;
  }
  return steps_.range();
}

template <std::floating_point R>
LinearOperator<R> SpectralSteps<R>::finish() const {
  Layout data = layout_;
  for (int axis = 0; axis + 1 < data.ndim(); ++axis) {
    data = resize_axis(data, axis, steps_.range().shape()[axis]);
  }
  const auto of_data = time_transform<R>(data, nfft_);
  return adjoint(of_data) * redistribute<C>(steps_.range(), of_data.range()) * steps_;
}

template class SpectralSteps<float>;
template class SpectralSteps<double>;

}  // namespace weft::detail
