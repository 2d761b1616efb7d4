#pragma once

#include <weft/op/linear_operator.hpp>

#include <cstdint>
#include <span>

namespace weft {

enum class ConvolutionMethod : std::uint8_t {
  automatic,  // direct for short filters, fft for long ones
  direct,     // sums; where the axis is cut, one exchange of halos
  fft,        // products of spectra; where the axis is cut, two all_to_alls
};

struct Convolve1DOptions {
  /// The place in the filter that is its origin.
  index_t offset = 0;
  int axis = -1;
  ConvolutionMethod method = ConvolutionMethod::automatic;
};

/// Convolves lines along an axis with a filter, y[i] = sum over j of h[j] x[i + offset - j], where
/// x is zero outside the array. The result is as long as x; the filter may be longer. All ranks
/// pass the same filter. The adjoint is the correlation with it.
template <Scalar T>
LinearOperator<T> convolve1d(const Layout& layout, std::type_identity_t<std::span<const T>> filter,
                             const Convolve1DOptions& options = {});

}  // namespace weft
