#pragma once

// Cosine transforms along axes that are not distributed, as operators; steps of dct.cpp.

#include <weft/op/fourier/dct.hpp>

namespace weft::detail {

/// Orthonormal cosine transform of a type along an axis that is not distributed.
template <Scalar T>
LinearOperator<T> local_dct(const Layout& layout, int axis, int type, FftPlanning planning);

}  // namespace weft::detail
