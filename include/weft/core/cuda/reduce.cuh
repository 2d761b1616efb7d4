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
template <class A, class Combine>
__device__ void combine_grid(A value, A identity, Combine combine, A* partials, unsigned* finished,
                             A* out) {
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
  combine_grid(value, identity, combine, partials, finished, out);
}

template <class A, class T, class F, class Combine, class... In>
__device__ A update_pack(A value, Pack<T>& y, F f, Combine combine, const Pack<In>... in) {
#pragma unroll
  for (int k = 0; k < Pack<T>::width; ++k) value = combine(value, f(y.at[k], in.at[k]...));
  return value;
}

template <class A, class T, class F, class Combine, class... In>
__global__ void __launch_bounds__(cuda_threads)
    update_and_reduce_kernel(index_t n, index_t packs, A identity, T* y, F f, Combine combine,
                             A* partials, unsigned* finished, A* out, const In*... in) {
  A value = identity;
  const index_t step = static_cast<index_t>(gridDim.x) * cuda_threads;
  const index_t first = static_cast<index_t>(blockIdx.x) * cuda_threads + threadIdx.x;
#pragma unroll 2
  for (index_t p = first; p < packs; p += step) {
    Pack<T> mine = pack(y, p);
    value = update_pack(value, mine, f, combine, pack(in, p)...);
    reinterpret_cast<Pack<T>*>(y)[p] = mine;
  }
  for (index_t i = packs * Pack<T>::width + first; i < n; i += step) {
    value = combine(value, f(y[i], in[i]...));
  }
  combine_grid(value, identity, combine, partials, finished, out);
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

namespace detail {

/// Blocks for a reduction of n elements.
inline unsigned reduce_blocks(index_t n) {
  constexpr index_t share = cuda_threads * cuda_reduce_share;
  return static_cast<unsigned>(std::clamp<index_t>((n + share - 1) / share, 1, cuda_reduce_blocks));
}

}  // namespace detail

/// *out, in memory of the device, = combine(f(0), f(1), ..., f(n-1)). Does not wait for it.
template <class A, class F, class Combine>
void reduce_into(Cuda device, index_t n, A identity, F f, Combine combine, A* out) {
  static_assert(sizeof(A) * detail::cuda_reduce_blocks <= detail::cuda_partial_bytes);
  const detail::CudaScratch scratch = detail::cuda_scratch();
  detail::reduce_kernel<<<detail::reduce_blocks(n), detail::cuda_threads, 0,
                          detail::stream_of(device)>>>(
      n, identity, f, combine, static_cast<A*>(scratch.partials), scratch.finished, out);
  detail::check_cuda_launch();
}

template <class A, class T, class F, class Combine, class... In>
void update_and_reduce_into(Cuda device, index_t n, A identity, T* y, F f, Combine combine, A* out,
                            const In*... in) {
  static_assert(((sizeof(In) == sizeof(T)) && ...), "packs of different lengths do not match");
  static_assert(sizeof(A) * detail::cuda_reduce_blocks <= detail::cuda_partial_bytes);
  const bool aligned = (detail::is_aligned(y) && ... && detail::is_aligned(in));
  const index_t packs = aligned ? n / detail::Pack<T>::width : 0;
  const detail::CudaScratch scratch = detail::cuda_scratch();
  detail::update_and_reduce_kernel<<<detail::reduce_blocks(n), detail::cuda_threads, 0,
                                     detail::stream_of(device)>>>(n, packs, identity, y, f, combine,
                                                                  static_cast<A*>(scratch.partials),
                                                                  scratch.finished, out, in...);
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
