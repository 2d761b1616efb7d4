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

/// Blocks for n elements: one per 256 elements up to the grid limit. Many short blocks keep more
/// loads in flight than threads that loop (device_bench).
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

/// The elements that a thread loads and stores at once.
template <class T>
struct alignas(16) Pack {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));
  T at[width];
};

template <class T>
__device__ const Pack<T>& pack(const T* data, index_t number) {
  return reinterpret_cast<const Pack<T>*>(data)[number];
}

template <class T, class F, class... In>
__device__ Pack<T> transform_pack(F f, const Pack<In>... in) {
  Pack<T> out;
#pragma unroll
  for (int k = 0; k < Pack<T>::width; ++k) out.at[k] = f(in.at[k]...);
  return out;
}

/// The first `packs` packs, then the remaining elements one by one.
template <class T, class F, class... In>
__global__ void __launch_bounds__(cuda_threads)
    transform_kernel(index_t n, index_t packs, T* out, F f, const In*... in) {
  const index_t step = static_cast<index_t>(gridDim.x) * cuda_threads;
  const index_t first = static_cast<index_t>(blockIdx.x) * cuda_threads + threadIdx.x;
  for (index_t p = first; p < packs; p += step) {
    reinterpret_cast<Pack<T>*>(out)[p] = transform_pack<T>(f, pack(in, p)...);
  }
  for (index_t i = packs * Pack<T>::width + first; i < n; i += step) out[i] = f(in[i]...);
}

template <class T, class F, class... In>
__device__ void update_packs(Pack<T>& y, Pack<T>& z, F f, const Pack<In>... in) {
#pragma unroll
  for (int k = 0; k < Pack<T>::width; ++k) f(y.at[k], z.at[k], in.at[k]...);
}

template <class T, class F, class... In>
__global__ void __launch_bounds__(cuda_threads)
    update_kernel(index_t n, index_t packs, T* y, T* z, F f, const In*... in) {
  const index_t step = static_cast<index_t>(gridDim.x) * cuda_threads;
  const index_t first = static_cast<index_t>(blockIdx.x) * cuda_threads + threadIdx.x;
  for (index_t p = first; p < packs; p += step) {
    Pack<T> of_y = pack(y, p);
    Pack<T> of_z = pack(z, p);
    update_packs(of_y, of_z, f, pack(in, p)...);
    reinterpret_cast<Pack<T>*>(y)[p] = of_y;
    reinterpret_cast<Pack<T>*>(z)[p] = of_z;
  }
  for (index_t i = packs * Pack<T>::width + first; i < n; i += step) f(y[i], z[i], in[i]...);
}

inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

/// Number is the type of divisions: 32 bits, where they suffice, are several times faster.
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
  if (n <= 0) return;
  detail::for_each_kernel<<<detail::cuda_blocks(n), detail::cuda_threads, 0,
                            detail::stream_of(device)>>>(n, f);
  detail::check_cuda_launch();
}

template <class T, class F, class... In>
void transform(Cuda device, index_t n, T* out, F f, const In*... in) {
  static_assert(((sizeof(In) == sizeof(T)) && ...), "packs of different lengths do not match");
  if (n <= 0) return;
  const bool aligned = (detail::is_aligned(out) && ... && detail::is_aligned(in));
  const index_t packs = aligned ? n / detail::Pack<T>::width : 0;
  const unsigned blocks = detail::cuda_blocks(packs > 0 ? packs : n);
  detail::transform_kernel<<<blocks, detail::cuda_threads, 0, detail::stream_of(device)>>>(
      n, packs, out, f, in...);
  detail::check_cuda_launch();
}

template <class T, class F, class... In>
void update(Cuda device, index_t n, T* y, T* z, F f, const In*... in) {
  static_assert(((sizeof(In) == sizeof(T)) && ...), "packs of different lengths do not match");
  if (n <= 0) return;
  const bool aligned =
      (detail::is_aligned(y) && detail::is_aligned(z) && ... && detail::is_aligned(in));
  const index_t packs = aligned ? n / detail::Pack<T>::width : 0;
  const unsigned blocks = detail::cuda_blocks(packs > 0 ? packs : n);
  detail::update_kernel<<<blocks, detail::cuda_threads, 0, detail::stream_of(device)>>>(
      n, packs, y, z, f, in...);
  detail::check_cuda_launch();
}

template <class F>
void for_each(Cuda device, index_t outer, index_t n, index_t inner, F f) {
  const index_t count = outer * n * inner;
  if (count <= 0) return;
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
