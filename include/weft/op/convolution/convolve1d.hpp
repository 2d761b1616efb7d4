#pragma once

#include <weft/op/linear_operator.hpp>

#include <cstdint>
#include <span>

namespace weft {

enum class ConvolutionMethod : std::uint8_t {
  automatic,  // direct for short filters, fft for long ones
  direct,     // sums in the spatial domain; one halo exchange if the axis is distributed
  fft,        // products of spectra; two all_to_alls if the axis is distributed
};

struct Convolve1DOptions {
  /// Index of the filter element at lag 0.
  index_t offset = 0;
  /// The axis to convolve along.
  int axis = -1;
  ConvolutionMethod method = ConvolutionMethod::automatic;
};

/// Convolution with a filter along an axis: y[i] = sum over j of h[j] x[i + offset - j], where x is
/// zero outside the array. y has the extent of x; the filter may be longer. All ranks pass the same
/// filter. The adjoint is the correlation with the filter. PyLops: Convolve1D.
template <Scalar T>
LinearOperator<T> convolve1d(const Layout& layout, std::type_identity_t<std::span<const T>> filter,
                             const Convolve1DOptions& options = {});

}  // namespace weft
