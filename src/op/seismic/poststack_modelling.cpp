#include <weft/op/seismic/poststack_modelling.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/stencil/first_derivative.hpp>

#include <iterator>

namespace weft {

template <Scalar T>
LinearOperator<T> poststack_modelling(const Layout& layout,
                                      std::type_identity_t<std::span<const T>> wavelet,
                                      const PoststackModellingOptions& options) {
  require(!wavelet.empty(), "poststack_modelling: the wavelet is empty");
  const auto derivative = first_derivative<T>(layout, {.axis = options.axis, .kind = options.kind});
  return convolve1d<T>(layout, wavelet, {.offset = std::ssize(wavelet) / 2, .axis = options.axis}) *
         derivative;
}

#define INSTANTIATE(T)                               \
  template LinearOperator<T> poststack_modelling<T>( \
      const Layout&, std::type_identity_t<std::span<const T>>, const PoststackModellingOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
