#pragma once

// for_each on an NVIDIA GPU; see for_each.hpp. Only nvcc reads this.

#include <weft/core/cuda/support.hpp>
#include <weft/core/device.hpp>
#include <weft/core/shape.hpp>

#include <algorithm>
#include <cstdint>

namespace weft {
namespace detail {

inline constexpr int cuda_threads = 256;

inline cudaStream_t stream_of(Cuda device) { return static_cast<cudaStream_t>(device.stream); }

/// Blocks for n elements. There is one per 256 as far as the grid reaches: blocks that come and go
/// keep more loads in flight than threads that loop.
inline unsigned cuda_blocks(index_t n) {
  constexpr index_t most = 0x7fffffff;
  return static_cast<unsigned>(std::min(most, (n + cuda_threads - 1) / cuda_threads));
}

template <class F>
__global__ void __launch_bounds__(cuda_threads) for_each_kernel(index_t n, F f) {
  const index_t step = static_cast<index_t>(gridDim.x) * cuda_threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * cuda_threads + threadIdx.x; i < n;
       i += step) {
    f(i);
  }
}

/// Number is what divisions are done in: 32 bits where they suffice are several times faster.
template <class Number, class F>
__global__ void __launch_bounds__(cuda_threads)
    for_each_kernel(Number outer, Number n, Number inner, F f) {
  const index_t count = static_cast<index_t>(outer) * n * inner;
  const index_t step = static_cast<index_t>(gridDim.x) * cuda_threads;
  for (index_t at = static_cast<index_t>(blockIdx.x) * cuda_threads + threadIdx.x; at < count;
       at += step) {
    const auto point = static_cast<Number>(at);
    const Number row = point / inner;
    const Number o = row / n;
    f(static_cast<index_t>(o), static_cast<index_t>(row - o * n),
      static_cast<index_t>(point - row * inner));
  }
}

}  // namespace detail

template <class F>
void for_each(Cuda device, index_t n, F f) {
  if (n == 0) return;
  detail::for_each_kernel<<<detail::cuda_blocks(n), detail::cuda_threads, 0,
                            detail::stream_of(device)>>>(n, f);
  detail::check_cuda_launch();
}

template <class F>
void for_each(Cuda device, index_t outer, index_t n, index_t inner, F f) {
  const index_t count = outer * n * inner;
  if (count == 0) return;
  const unsigned blocks = detail::cuda_blocks(count);
  if (count <= 0x7fffffff) {
    detail::for_each_kernel<<<blocks, detail::cuda_threads, 0, detail::stream_of(device)>>>(
        static_cast<std::uint32_t>(outer), static_cast<std::uint32_t>(n),
        static_cast<std::uint32_t>(inner), f);
  } else {
    detail::for_each_kernel<<<blocks, detail::cuda_threads, 0, detail::stream_of(device)>>>(
        outer, n, inner, f);
  }
  detail::check_cuda_launch();
}

}  // namespace weft
