#pragma once

// Fourier transforms along axes that are not distributed, as operators; steps of fft.cpp.

#include <weft/op/fourier/fft.hpp>

namespace weft::detail {

/// Unnormalized transform along axes that are not distributed.
template <Scalar C>
LinearOperator<C> local_fft(const Layout& layout, const std::vector<int>& axes,
                            FftPlanning planning);
/// Unnormalized transform of a real array along an axis that is not distributed. Frequencies that
/// stand for two are scaled by sqrt(2).
template <Scalar F>
LinearOperator<F, Spectrum<F>> local_real_fft(const Layout& layout, int axis, FftPlanning planning);

}  // namespace weft::detail
