#pragma once

// Batched matrix products on a device. gemm.cpp divides them among threads; gemm_openblas.cpp or
// gemm_loops.cpp computes a block on the CPU, cuda/gemm.cpp everything on a GPU.

#include <weft/core/device.hpp>
#include <weft/core/scalars.hpp>
#include <weft/core/shape.hpp>

#include <cstdint>

namespace weft::detail {

/// A matrix, its transpose or its conjugate transpose.
enum class MatrixForm : std::uint8_t { plain, transpose, adjoint };

/// A batch of matrices in row-major order. `row` is the distance between rows (the leading
/// dimension), `stride` that between matrices of the batch. With stride 0 they are all the same
/// matrix.
template <class T>
struct Matrices {
  T* data;
  index_t row;
  index_t stride = 0;
};

/// A batch of products of m x k by k x n matrices.
struct GemmSize {
  index_t m;
  index_t n;
  index_t k;
  index_t batch = 1;
};

/// c = alpha form(a) b + beta c for each matrix of a batch, in the arithmetic of T; with beta = 0,
/// c is not read. On the CPU, this rank's threads share the work, and each calls OpenBLAS, whose
/// own threads are switched off for the whole process. On a GPU, cuBLAS runs on this thread's
/// stream.
template <Scalar T>
void gemm(Device device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
          Matrices<const T> b, T beta, Matrices<T> c);

/// The floating-point operations of gemm().
template <Scalar T>
double gemm_flops(const GemmSize& size) {
  const double products = static_cast<double>(size.m) * static_cast<double>(size.n) *
                          static_cast<double>(size.k) * static_cast<double>(size.batch);
  return products * (is_complex<T> ? 8 : 2);
}

}  // namespace weft::detail
