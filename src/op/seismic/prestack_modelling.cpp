#include <weft/op/seismic/prestack_modelling.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/stencil/first_derivative.hpp>

namespace weft {

template <Scalar T>
LinearOperator<T> prestack_modelling(const Layout& layout,
                                     std::type_identity_t<std::span<const T>> wavelet,
                                     const std::vector<double>& theta,
                                     const PrestackModellingOptions& options) {
  require(!wavelet.empty(), "prestack_modelling: the wavelet is empty");
  const auto reflections = avo_modelling<T>(
      layout, theta, {.vsvp = options.vsvp, .linearization = options.linearization});
  const auto derivative = first_derivative<T>(layout, {.axis = 0, .kind = options.kind});
  const auto convolution =
      convolve1d<T>(reflections.range(), wavelet, {.offset = std::ssize(wavelet) / 2, .axis = 0});
  return convolution * (reflections * derivative);
}

#define INSTANTIATE(T)                                                                     \
  template LinearOperator<T> prestack_modelling<T>(                                        \
      const Layout&, std::type_identity_t<std::span<const T>>, const std::vector<double>&, \
      const PrestackModellingOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
