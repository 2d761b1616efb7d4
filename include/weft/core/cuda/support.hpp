#pragma once

// What kernels need of the CUDA runtime, in plain C++.

#include <weft/core/shape.hpp>

#include <cstddef>

namespace weft::detail {

/// Throws DeviceError if the last launch was refused.
void check_cuda_launch();
/// Throws DeviceError: there is no kernel for what was asked.
[[noreturn]] void refuse_launch(const char* what);

// The number of blocks of a reduction depends on n alone, and so does the order of every sum.
inline constexpr index_t cuda_reduce_blocks = 1024;
inline constexpr std::size_t cuda_partial_bytes = cuda_reduce_blocks * 16;

/// Memory on the current device for reductions of this thread: partial results, and a counter that
/// is zero between calls. The same for each call, since they follow one another on a stream.
struct CudaScratch {
  void* partials = nullptr;
  unsigned* finished = nullptr;
};
CudaScratch cuda_scratch();

}  // namespace weft::detail
