#pragma once

#include <weft/core/error.hpp>

#include <cuda_runtime.h>

namespace weft::detail {

/// Throws a DeviceError with CUDA's error text unless `code` is success.
inline void cuda_check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) [[likely]]
    return;
  cudaGetLastError();  // otherwise the next launch would report it
  throw DeviceError(fmt::format("{}: {}", call, cudaGetErrorString(code)));
}

}  // namespace weft::detail
