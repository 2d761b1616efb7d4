// Matrix products by cuBLAS.

#include "op/matrix/cuda/gemm.hpp"

#include "core/cuda/cuda_check.hpp"

#include <cublas_v2.h>

#include <algorithm>
#include <map>
#include <memory>

namespace weft::detail {
namespace {

void check(cublasStatus_t code, const char* call) {
  if (code == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  throw DeviceError(fmt::format("{}: {}", call, cublasGetStatusString(code)));
}

struct Destroy {
  void operator()(cublasHandle_t handle) const noexcept { cublasDestroy(handle); }
};

/// This thread's handle for the current GPU.
cublasHandle_t handle_for(void* stream) {
  thread_local std::map<int, std::unique_ptr<cublasContext, Destroy>> handles;
  int gpu = 0;
  cuda_check(cudaGetDevice(&gpu), "cudaGetDevice");
  auto& handle = handles[gpu];
  if (handle == nullptr) {
    cublasHandle_t made = nullptr;
    check(cublasCreate(&made), "cublasCreate");
    handle.reset(made);
  }
  check(cublasSetStream(handle.get(), static_cast<cudaStream_t>(stream)), "cublasSetStream");
  return handle.get();
}

cublasOperation_t operation(MatrixForm form) {
  switch (form) {
    case MatrixForm::transpose: return CUBLAS_OP_T;
    case MatrixForm::adjoint: return CUBLAS_OP_C;
    default: return CUBLAS_OP_N;
  }
}

/// The types and functions of cuBLAS for a scalar.
template <class T>
struct Cublas;
template <>
struct Cublas<float> {
  using type = float;
  static constexpr auto gemm = cublasSgemmStridedBatched_64;
};
template <>
struct Cublas<double> {
  using type = double;
  static constexpr auto gemm = cublasDgemmStridedBatched_64;
};
template <>
struct Cublas<std::complex<float>> {
  using type = cuComplex;
  static constexpr auto gemm = cublasCgemmStridedBatched_64;
};
template <>
struct Cublas<std::complex<double>> {
  using type = cuDoubleComplex;
  static constexpr auto gemm = cublasZgemmStridedBatched_64;
};

}  // namespace

// cuBLAS is column-major, so it sees all matrices transposed: cᵀ = bᵀ form(a)ᵀ.
template <Scalar T>
void gemm_on(Cuda device, MatrixForm form, const GemmSize& size, T alpha, Matrices<const T> a,
             Matrices<const T> b, T beta, Matrices<T> c) {
  using C = typename Cublas<T>::type;
  const auto in = [](const T* data) { return reinterpret_cast<const C*>(data); };
  const auto leading = [](index_t row) { return std::max<index_t>(1, row); };  // cuBLAS rejects 0
  check(Cublas<T>::gemm(handle_for(device.stream), CUBLAS_OP_N, operation(form), size.n, size.m,
                        size.k, in(&alpha), in(b.data), leading(b.row), b.stride, in(a.data),
                        leading(a.row), a.stride, in(&beta), reinterpret_cast<C*>(c.data),
                        leading(c.row), c.stride, size.batch),
        "cublasGemmStridedBatched");
}

#define INSTANTIATE(T)                                                           \
  template void gemm_on(Cuda, MatrixForm, const GemmSize&, T, Matrices<const T>, \
                        Matrices<const T>, T, Matrices<T>);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
