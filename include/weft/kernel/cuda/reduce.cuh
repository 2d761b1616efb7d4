#pragma once

// reduce on an NVIDIA GPU; see reduce.hpp. Only nvcc reads this.

#include <weft/kernel/cuda/for_each.cuh>
#include <weft/kernel/targets.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {
namespace detail {

/// The least number of elements per thread.
inline constexpr index_t cuda_reduce_share = 8;

/// The value of the thread `lanes` further in the warp.
template <class A>
__device__ A shuffle_down(unsigned mask, A value, unsigned lanes) {
  constexpr int words = sizeof(A) / sizeof(unsigned);
  static_assert(words * sizeof(unsigned) == sizeof(A) && std::is_trivially_copyable_v<A>);
  unsigned word[words];
  memcpy(word, &value, sizeof(A));
#pragma unroll
  for (int w = 0; w < words; ++w) word[w] = __shfl_down_sync(mask, word[w], lanes);
  memcpy(&value, word, sizeof(A));
  return value;
}

/// Combines the values of all threads, in thread 0.
template <class A, class Combine>
__device__ A combine_block(A value, Combine combine) {
  constexpr unsigned warp = 32;
  constexpr unsigned warps = cuda_threads / warp;
  __shared__ alignas(16) unsigned char memory[warps * sizeof(A)];
  A* shared = reinterpret_cast<A*>(memory);
#pragma unroll
  for (unsigned width = warp / 2; width > 0; width /= 2) {
    value = combine(value, shuffle_down(~0U, value, width));
  }
  if (threadIdx.x % warp == 0) shared[threadIdx.x / warp] = value;
  __syncthreads();
  if (threadIdx.x < warps) {
    value = shared[threadIdx.x];
#pragma unroll
    for (unsigned width = warps / 2; width > 0; width /= 2) {
      value = combine(value, shuffle_down((1U << warps) - 1, value, width));
    }
  }
  __syncthreads();
  return value;
}

/// Lets the next kernel of the stream become resident before this one has ended, if it was launched
/// so (programmatic dependent launch): a kernel that continues with the sum then waits only for the
/// sum, not for a launch.
__device__ inline void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// One pass: the last block to finish combines the partial results of all blocks in order.
template <class A, class Combine>
__device__ void combine_grid(A value, A identity, Combine combine, A* partials, unsigned* finished,
                             A* out) {
  launch_dependents();
  value = combine_block(value, combine);
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) *out = value;
    return;
  }
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

/// The packs of all arrays at one position.
template <class T, int count, class... In>
struct PackStep {
  using Pack = detail::Pack<std::remove_const_t<T>>;
  Pack mine[count];
  std::tuple<detail::Pack<In>...> others;

  __device__ void load(const Targets<T, count>& y, index_t number, const In*... in) {
#pragma unroll
    for (int t = 0; t < count; ++t) mine[t] = pack(y.at[t], number);
    others = {pack(in, number)...};
  }
  template <class A, class F, class Combine>
  __device__ A reduce(A value, F f, Combine combine) {
    return reduce(value, f, combine, std::make_index_sequence<count>(),
                  std::index_sequence_for<In...>());
  }
  __device__ void store(const Targets<T, count>& y, index_t number) const {
#pragma unroll
    for (int t = 0; t < count; ++t) reinterpret_cast<Pack*>(y.at[t])[number] = mine[t];
  }

 private:
  template <class A, class F, class Combine, std::size_t... t, std::size_t... i>
  __device__ A reduce(A value, F f, Combine combine, std::index_sequence<t...>,
                      std::index_sequence<i...>) {
#pragma unroll
    for (int k = 0; k < Pack::width; ++k) {
      value = combine(value, f(mine[t].at[k]..., std::get<i>(others).at[k]...));
    }
    return value;
  }
};

/// f(y[i]..., in[i]...)
template <class T, int count, class F, std::size_t... t, class... In>
__device__ auto call_at(index_t i, const Targets<T, count>& y, F f, std::index_sequence<t...>,
                        const In*... in) {
  return f(y.at[t][i]..., in[i]...);
}

/// Writes y unless it is const. Threads process elements in packs even if they cannot be loaded as
/// packs: the order must not depend on the alignment of arrays.
template <int steps, class A, class T, int count, class F, class Combine, class... In>
__global__ void __launch_bounds__(cuda_threads)
    reduce_packs_kernel(index_t n, A identity, Targets<T, count> y, F f, Combine combine,
                        A* partials, unsigned* finished, A* out, const In*... in) {
  using Step = PackStep<T, count, In...>;
  constexpr int width = Step::Pack::width;
  const auto at = [&](index_t i) {
    return call_at(i, y, f, std::make_index_sequence<count>(), in...);
  };
  A value = identity;
  const index_t packs = n / width;
  const index_t stride = static_cast<index_t>(gridDim.x) * cuda_threads;
  const index_t first = static_cast<index_t>(blockIdx.x) * cuda_threads + threadIdx.x;
  if constexpr (steps == 0) {
    for (index_t p = first; p < packs; p += stride) {
#pragma unroll
      for (index_t i = p * width; i < (p + 1) * width; ++i) value = combine(value, at(i));
    }
  } else {
    // All loads first: the compiler does not move loads of a step before stores of an earlier one.
    for (index_t p = first; p < packs; p += steps * stride) {
      Step step[steps];
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        if (p + s * stride < packs) step[s].load(y, p + s * stride, in...);
      }
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        if (p + s * stride >= packs) break;
        value = step[s].reduce(value, f, combine);
        if constexpr (!std::is_const_v<T>) step[s].store(y, p + s * stride);
      }
    }
  }
  for (index_t i = packs * width + first; i < n; i += stride) value = combine(value, at(i));
  combine_grid(value, identity, combine, partials, finished, out);
}

/// One thread per line: neighbours in `inner` are neighbours in memory.
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

/// One block per line, if lines are contiguous or few.
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

/// Blocks for a reduction of n elements. A single block need not wait for others.
inline unsigned reduce_blocks(index_t n) {
  constexpr index_t share = cuda_threads * cuda_reduce_share;
  if (n <= 2 * share) return 1;
  return static_cast<unsigned>(std::min((n + share - 1) / share, index_t{cuda_reduce_blocks}));
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

template <class A, class T, int count, class F, class Combine, class... In>
void update_and_reduce_into(Cuda device, index_t n, A identity, Targets<T, count> y, F f,
                            Combine combine, A* out, const In*... in) {
  static_assert(((sizeof(In) == sizeof(T)) && ...), "packs of different lengths do not match");
  static_assert(sizeof(A) * detail::cuda_reduce_blocks <= detail::cuda_partial_bytes);
  const detail::CudaScratch scratch = detail::cuda_scratch();
  const bool aligned = std::all_of(y.at, y.at + count, detail::is_aligned) &&
                       (true && ... && detail::is_aligned(in));
  // A single block keeps many loads in flight; with many blocks that would only reduce occupancy.
  constexpr int arrays = count + static_cast<int>(sizeof...(In));
  constexpr int many = 4;
  constexpr int few = std::max(1, 4 / arrays);
  const unsigned blocks = detail::reduce_blocks(n);
  const auto launch = [&](auto kernel) {
    kernel<<<blocks, detail::cuda_threads, 0, detail::stream_of(device)>>>(
        n, identity, y, f, combine, static_cast<A*>(scratch.partials), scratch.finished, out,
        in...);
  };
  if (!aligned) {
    launch(detail::reduce_packs_kernel<0, A, T, count, F, Combine, In...>);
  } else if (blocks == 1) {
    launch(detail::reduce_packs_kernel<many, A, T, count, F, Combine, In...>);
  } else {
    launch(detail::reduce_packs_kernel<few, A, T, count, F, Combine, In...>);
  }
  detail::check_cuda_launch();
}

template <class A, class F, class Combine, class T, class... In>
void reduce_into(Cuda device, index_t n, A identity, F f, Combine combine, A* out, const T* first,
                 const In*... in) {
  update_and_reduce_into(device, n, identity, Targets{first}, f, combine, out, in...);
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
