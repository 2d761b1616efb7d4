#pragma once

// reduce on an NVIDIA GPU; see reduce.hpp. Only nvcc reads this.

#include <weft/core/cuda/for_each.cuh>

namespace weft {
namespace detail {

/// Elements per thread, at least.
inline constexpr index_t cuda_reduce_share = 8;

/// The combination of all threads' values, in thread 0.
template <class A, class Combine>
__device__ A combine_block(A value, Combine combine) {
  __shared__ alignas(16) unsigned char memory[cuda_threads * sizeof(A)];
  A* shared = reinterpret_cast<A*>(memory);
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned width = cuda_threads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) {
      shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + width]);
    }
    __syncthreads();
  }
  const A result = shared[0];
  __syncthreads();
  return result;
}

/// One pass: the block that finishes last combines the partial results of all, in their order.
template <class A, class F, class Combine>
__global__ void __launch_bounds__(cuda_threads)
    reduce_kernel(index_t n, A identity, F f, Combine combine, A* partials, unsigned* finished,
                  A* out) {
  A value = identity;
  const index_t step = static_cast<index_t>(gridDim.x) * cuda_threads;
#pragma unroll 4
  for (index_t i = static_cast<index_t>(blockIdx.x) * cuda_threads + threadIdx.x; i < n;
       i += step) {
    value = combine(value, f(i));
  }
  value = combine_block(value, combine);

  __shared__ bool last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = value;
    __threadfence();
    last = atomicAdd(finished, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  value = identity;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += cuda_threads) {
    value = combine(value, partials[block]);
  }
  value = combine_block(value, combine);
  if (threadIdx.x == 0) {
    *out = value;
    *finished = 0;
  }
}

/// A thread for each line: neighbours in `inner` are neighbours in memory.
template <class A, class F, class Combine, class Out>
__global__ void __launch_bounds__(cuda_threads)
    reduce_lines_kernel(index_t lines, index_t n, index_t inner, A identity, F f, Combine combine,
                        Out out) {
  const index_t line = static_cast<index_t>(blockIdx.x) * cuda_threads + threadIdx.x;
  if (line >= lines) return;
  const index_t o = line / inner;
  const index_t k = line - o * inner;
  A value = identity;
  for (index_t i = 0; i < n; ++i) value = combine(value, f(o, i, k));
  out(o, k, value);
}

/// A block for each line, where lines lie along memory or are few.
template <class A, class F, class Combine, class Out>
__global__ void __launch_bounds__(cuda_threads)
    reduce_line_kernel(index_t lines, index_t n, index_t inner, A identity, F f, Combine combine,
                       Out out) {
  for (index_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const index_t o = line / inner;
    const index_t k = line - o * inner;
    A value = identity;
    for (index_t i = threadIdx.x; i < n; i += cuda_threads) value = combine(value, f(o, i, k));
    value = combine_block(value, combine);
    if (threadIdx.x == 0) out(o, k, value);
  }
}

}  // namespace detail

/// *out, in memory of the device, = combine(f(0), f(1), ..., f(n-1)). Does not wait for it.
template <class A, class F, class Combine>
void reduce_into(Cuda device, index_t n, A identity, F f, Combine combine, A* out) {
  static_assert(sizeof(A) * detail::cuda_reduce_blocks <= detail::cuda_partial_bytes);
  constexpr index_t share = detail::cuda_threads * detail::cuda_reduce_share;
  const index_t blocks =
      std::clamp<index_t>((n + share - 1) / share, 1, detail::cuda_reduce_blocks);
  const detail::CudaScratch scratch = detail::cuda_scratch();
  detail::reduce_kernel<<<static_cast<unsigned>(blocks), detail::cuda_threads, 0,
                          detail::stream_of(device)>>>(
      n, identity, f, combine, static_cast<A*>(scratch.partials), scratch.finished, out);
  detail::check_cuda_launch();
}

template <class A, class F, class Combine, class Out>
void reduce(Cuda device, index_t outer, index_t n, index_t inner, A identity, F f, Combine combine,
            Out out) {
  const index_t lines = outer * inner;
  if (lines == 0) return;
  if (inner >= 32) {
    detail::reduce_lines_kernel<<<detail::cuda_blocks(lines), detail::cuda_threads, 0,
                                  detail::stream_of(device)>>>(lines, n, inner, identity, f,
                                                               combine, out);
  } else {
    const auto blocks = static_cast<unsigned>(std::min<index_t>(lines, 1 << 20));
    detail::reduce_line_kernel<<<blocks, detail::cuda_threads, 0, detail::stream_of(device)>>>(
        lines, n, inner, identity, f, combine, out);
  }
  detail::check_cuda_launch();
}

}  // namespace weft
