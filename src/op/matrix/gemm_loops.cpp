#include "op/matrix/gemm_block.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "kernel/multiply_add.hpp"

namespace weft::detail {
namespace {

template <class T>
T conjugate(T a) {
  return a;
}
template <class R>
Complex<R> conjugate(Complex<R> a) {
  return {a.re, -a.im};
}

}  // namespace

// Rows of b are added up in rows of c, in blocks of both that stay in the cache.
template <class Device, Scalar T>
void gemm_block(Device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
                Matrices<const T> b, T beta, Matrices<T> c) {
  constexpr index_t deep = 64;
  constexpr index_t wide = 256;
  using K = KernelType<T>;
  const K factor = kernel_value(alpha);
  const K* left = kernel_cast(a.data);
  const index_t down = form == MatrixForm::plain ? a.row : 1;
  const index_t along = form == MatrixForm::plain ? 1 : a.row;
  scale_block(size, beta, c);
  for (index_t k0 = 0; k0 < size.k; k0 += deep) {
    const index_t k1 = std::min(k0 + deep, size.k);
    for (index_t j0 = 0; j0 < size.n; j0 += wide) {
      const index_t columns = std::min(wide, size.n - j0);
      for (index_t i = 0; i < size.m; ++i) {
        K* out = kernel_cast(c.data) + i * c.row + j0;
        for (index_t k = k0; k < k1; ++k) {
          const K entry = left[i * down + k * along];
          const K scaled = factor * (form == MatrixForm::adjoint ? conjugate(entry) : entry);
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
