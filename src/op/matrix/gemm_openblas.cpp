// Matrix products by OpenBLAS.

#include "op/matrix/gemm_block.hpp"

#include <weft/core/error.hpp>
#include <weft/kernel/for_each.hpp>

#include <cblas.h>

#include <limits>

namespace weft::detail {
namespace {

/// Switches off OpenBLAS's threads: they are shared by the whole process, while every rank calls
/// from its own threads.
void use_one_thread() {
  [[maybe_unused]] static const bool once = (openblas_set_num_threads(1), true);
}

blasint blas_int(index_t n) {
  require(n <= std::numeric_limits<blasint>::max(),
          "gemm: dimension {} exceeds the integer type of OpenBLAS", n);
  return static_cast<blasint>(n);
}

CBLAS_TRANSPOSE blas_form(MatrixForm form) {
  switch (form) {
    case MatrixForm::transpose: return CblasTrans;
    case MatrixForm::adjoint: return CblasConjTrans;
    default: return CblasNoTrans;
  }
}

template <class T>
void multiply(MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
              Matrices<const T> b, T beta, Matrices<T> c) {
  const auto call = [&](auto cblas_gemm, auto one, auto other) {
    cblas_gemm(CblasRowMajor, blas_form(form), CblasNoTrans, blas_int(size.m), blas_int(size.n),
               blas_int(size.k), one, a.data, blas_int(a.row), b.data, blas_int(b.row), other,
               c.data, blas_int(c.row));
  };
  if constexpr (std::same_as<T, float>) call(cblas_sgemm, alpha, beta);
  if constexpr (std::same_as<T, double>) call(cblas_dgemm, alpha, beta);
  if constexpr (std::same_as<T, std::complex<float>>) call(cblas_cgemm, &alpha, &beta);
  if constexpr (std::same_as<T, std::complex<double>>) call(cblas_zgemm, &alpha, &beta);
}

/// A product with a single column, by gemv, which reads the matrix faster than gemm.
template <class T>
void multiply_column(MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
                     Matrices<const T> b, T beta, Matrices<T> c) {
  if (beta == T{}) {  // some versions of OpenBLAS read c
    scale_block(size, beta, c);
    beta = T{1};
  }
  const bool plain = form == MatrixForm::plain;
  const auto call = [&](auto cblas_gemv, auto one, auto other) {
    cblas_gemv(CblasRowMajor, blas_form(form), blas_int(plain ? size.m : size.k),
               blas_int(plain ? size.k : size.m), one, a.data, blas_int(a.row), b.data,
               blas_int(b.row), other, c.data, blas_int(c.row));
  };
  if constexpr (std::same_as<T, float>) call(cblas_sgemv, alpha, beta);
  if constexpr (std::same_as<T, double>) call(cblas_dgemv, alpha, beta);
  if constexpr (std::same_as<T, std::complex<float>>) call(cblas_cgemv, &alpha, &beta);
  if constexpr (std::same_as<T, std::complex<double>>) call(cblas_zgemv, &alpha, &beta);
}

}  // namespace

template <class Device, Scalar T>
void gemm_block(Device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
                Matrices<const T> b, T beta, Matrices<T> c) {
  use_one_thread();
  if (size.n == 1) return multiply_column(form, size, alpha, a, b, beta, c);
  multiply(form, size, alpha, a, b, beta, c);
}

#define INSTANTIATE(T)                                                                          \
  template void gemm_block(WEFT_THIS_DEVICE, MatrixForm, const GemmSize&, T, Matrices<const T>, \
                           Matrices<const T>, T, Matrices<T>);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
