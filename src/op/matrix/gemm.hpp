#pragma once

#include <weft/core/device.hpp>
#include <weft/core/scalars.hpp>
#include <weft/core/shape.hpp>

#include <cstdint>

namespace weft::detail {

/// How a matrix is read.
enum class MatrixForm : std::uint8_t { plain, transpose, adjoint };

/// Matrices in row-major order: rows begin `row` elements apart, and one matrix of a batch
/// `stride` elements after the one before. With stride 0 they are all the same.
template <class T>
struct Matrices {
  T* data;
  index_t row;
  index_t stride = 0;
};

/// Products of m x k by k x n.
struct GemmSize {
  index_t m;
  index_t n;
  index_t k;
  index_t batch = 1;
};

/// c = alpha form(a) b + beta c for each matrix of a batch, in the arithmetic of T; with beta = 0,
/// c is not read. The CPU's work is divided among this rank's threads; each of them calls OpenBLAS,
/// which is told to use no threads of its own for the whole process. On a GPU, cuBLAS on this
/// thread's stream.
template <Scalar T>
void gemm(Device device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
          Matrices<const T> b, T beta, Matrices<T> c);

/// The floating-point operations of it.
template <Scalar T>
double gemm_flops(const GemmSize& size) {
  const double products = static_cast<double>(size.m) * static_cast<double>(size.n) *
                          static_cast<double>(size.k) * static_cast<double>(size.batch);
  return products * (is_complex<T> ? 8 : 2);
}

}  // namespace weft::detail
