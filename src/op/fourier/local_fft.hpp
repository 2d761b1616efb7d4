#pragma once

#include <weft/op/fourier/fft.hpp>

namespace weft::detail {

/// The transform without factors along axes that are whole.
template <Scalar C>
LinearOperator<C> local_fft(const Layout& layout, const std::vector<int>& axes,
                            FftPlanning planning);
/// The transform of a real array along an axis that is whole, with sqrt(2) for the frequencies that
/// stand for two.
template <Scalar F>
LinearOperator<F, Spectrum<F>> local_real_fft(const Layout& layout, int axis, FftPlanning planning);

}  // namespace weft::detail
