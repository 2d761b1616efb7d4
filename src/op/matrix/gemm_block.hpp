#pragma once

// One matrix product on one CPU thread, for gemm.cpp: by OpenBLAS (gemm_openblas.cpp), or by loops
// in builds without it (gemm_loops.cpp).

#include "op/matrix/gemm.hpp"

#include <algorithm>

namespace weft::detail {

/// gemm() of a single nonempty product.
template <class Device, Scalar T>
void gemm_block(Device device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
                Matrices<const T> b, T beta, Matrices<T> c);

/// c *= beta; with beta = 0, c is not read.
template <Scalar T>
void scale_block(const GemmSize& size, T beta, Matrices<T> c) {
  if (beta == T{1}) return;
  for (index_t i = 0; i < size.m; ++i) {
    T* row = c.data + i * c.row;
    if (beta == T{}) {
      std::fill_n(row, size.n, T{});
    } else {
      for (index_t j = 0; j < size.n; ++j) row[j] *= beta;
    }
  }
}

}  // namespace weft::detail
