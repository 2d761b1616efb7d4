// Matrix products by blocked loops, for builds without OpenBLAS.

#include "op/matrix/gemm_block.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "kernel/kernel_math.hpp"
#include "kernel/multiply_add.hpp"

namespace weft::detail {

// Adds multiples of rows of b to rows of c. A block of b stays in the L2 cache, and a piece of a
// row of c in the L1 cache. Block sizes are not tuned further: builds for speed have OpenBLAS.
template <class Device, Scalar T>
void gemm_block(Device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
                Matrices<const T> b, T beta, Matrices<T> c) {
  constexpr index_t block_rows = 64;  // of b
  constexpr index_t block_columns = 256;
  using K = KernelType<T>;
  const K factor = kernel_value(alpha);
  const K* left = kernel_cast(a.data);
  const index_t row_stride = form == MatrixForm::plain ? a.row : 1;
  const index_t column_stride = form == MatrixForm::plain ? 1 : a.row;
  scale_block(size, beta, c);
  for (index_t k0 = 0; k0 < size.k; k0 += block_rows) {
    const index_t k1 = std::min(k0 + block_rows, size.k);
    for (index_t j0 = 0; j0 < size.n; j0 += block_columns) {
      const index_t columns = std::min(block_columns, size.n - j0);
      for (index_t i = 0; i < size.m; ++i) {
        K* out = kernel_cast(c.data) + i * c.row + j0;
        for (index_t k = k0; k < k1; ++k) {
          const K entry = left[i * row_stride + k * column_stride];
          const K scaled = factor * (form == MatrixForm::adjoint ? kernels::conj_of(entry) : entry);
          const K* in = kernel_cast(b.data) + k * b.row + j0;
#pragma omp simd
          for (index_t j = 0; j < columns; ++j) {
            out[j] = kernels::multiply_add(scaled, in[j], out[j]);
          }
        }
      }
    }
  }
}

#define INSTANTIATE(T)                                                                          \
  template void gemm_block(WEFT_THIS_DEVICE, MatrixForm, const GemmSize&, T, Matrices<const T>, \
                           Matrices<const T>, T, Matrices<T>);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
