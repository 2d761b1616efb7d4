// Matrix products by cuBLAS.

#include "op/matrix/cuda/gemm.hpp"

#include <weft/core/buffer.hpp>

#include "core/cuda/cuda_check.hpp"
#include "core/cuda/per_thread.hpp"
#include "core/cuda_device.hpp"
#include "core/gpu_warm_up.hpp"

#include <cublas_v2.h>

#include <algorithm>

namespace weft::detail {
namespace {

void check(cublasStatus_t code, const char* call) {
  if (code == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  throw DeviceError(fmt::format("{}: {}", call, cublasGetStatusString(code)));
}

/// cuBLAS with memory from the pool: it would allocate its own within calls, and wait for running
/// kernels then.
struct Handle {
  static constexpr std::size_t workspace_bytes = 32 << 20;  // what NVIDIA recommends for Hopper

  cublasHandle_t cublas = nullptr;
  void* workspace = nullptr;
  void* stream = nullptr;
};

Handle make_handle(int gpu) {
  Handle made;
  check(cublasCreate(&made.cublas), "cublasCreate");
  made.workspace = cuda_allocate(Device::cuda(gpu), Handle::workspace_bytes);
  return made;
}

/// This thread's handle for the current GPU.
cublasHandle_t handle_for(void* stream) {
  thread_local PerThread<Handle> handles;
  int gpu = 0;
  cuda_check(cudaGetDevice(&gpu), "cudaGetDevice");
  Handle& handle = handles.get(gpu, [&] { return make_handle(gpu); });
  if (handle.stream != stream) {
    check(cublasSetStream(handle.cublas, static_cast<cudaStream_t>(stream)), "cublasSetStream");
    if (handle.workspace != nullptr) {  // forgotten with every stream
      check(cublasSetWorkspace(handle.cublas, handle.workspace, Handle::workspace_bytes),
            "cublasSetWorkspace");
    }
    handle.stream = stream;
  }
  return handle.cublas;
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

namespace {

/// The first product of a type makes what cuBLAS needs for the others.
template <Scalar T>
void multiply_once(Device device, void* stream) {
  constexpr index_t n = 4;
  Buffer<T> matrices(3 * n * n, device);  // of any value
  T* const a = matrices.data();
  gemm_on<T>(Cuda{stream}, MatrixForm::plain, {n, n, n}, T{1}, {a, n}, {a + n * n, n}, T{0},
             {a + 2 * n * n, n});
}

[[maybe_unused]] const bool warmed_up = add_gpu_warm_up([](Device device, void* stream) {
#define WARM_UP(T) multiply_once<T>(device, stream);
  WEFT_FOR_EACH_SCALAR(WARM_UP)
#undef WARM_UP
});

}  // namespace

#define INSTANTIATE(T)                                                           \
  template void gemm_on(Cuda, MatrixForm, const GemmSize&, T, Matrices<const T>, \
                        Matrices<const T>, T, Matrices<T>);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
