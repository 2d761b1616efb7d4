#pragma once

// The CUDA runtime for kernels, in plain C++.

#include <weft/core/shape.hpp>

#include <cstddef>

namespace weft::detail {

/// Throws DeviceError if the last launch failed.
void check_cuda_launch();
/// Throws DeviceError: there is no such kernel.
[[noreturn]] void refuse_launch(const char* what);

// The number of blocks of a reduction depends only on n, and so does the order of every sum.
inline constexpr index_t cuda_reduce_blocks = 1024;
inline constexpr std::size_t cuda_partial_bytes = cuda_reduce_blocks * 16;

/// Memory on the current device for reductions of this thread: partial results, and a counter that
/// is zero between calls. All calls share it, since they are ordered on one stream.
struct CudaScratch {
  void* partials = nullptr;
  unsigned* finished = nullptr;
};
CudaScratch cuda_scratch();

}  // namespace weft::detail
