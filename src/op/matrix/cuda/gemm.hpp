#pragma once

#include "op/matrix/gemm.hpp"

namespace weft::detail {

/// gemm() of nonempty products on the current GPU.
template <Scalar T>
void gemm_on(Cuda device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
             Matrices<const T> b, T beta, Matrices<T> c);

}  // namespace weft::detail
