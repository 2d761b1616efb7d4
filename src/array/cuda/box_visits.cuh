#pragma once

// Visiting a box on a GPU; for box_kernels.cpp only.

#include <weft/kernel/for_each.hpp>

#include "array/box_loops.hpp"

#include <cstdint>

namespace weft::kernels {

/// f(source, target) for all points of a box. Index divisions use the type Number.
template <class Number, int visits, class T, class F>
__global__ void __launch_bounds__(detail::cuda_threads)
    visit_kernel(const __grid_constant__ BoxLoops loops, Number count, const T* from,
                 index_t from_step, T* to, index_t to_step, F f) {
  const Number first =
      static_cast<Number>(blockIdx.x) * detail::cuda_threads * visits + threadIdx.x;
  T in[visits];
  T out[visits];
  T* target[visits];
#pragma unroll
  for (int visit = 0; visit < visits; ++visit) {
    Number rest = first + visit * detail::cuda_threads;
    target[visit] = nullptr;
    if (rest >= count) continue;
    const auto next = [&](index_t extent) {
      const Number part = rest / static_cast<Number>(extent);
      const Number position = rest - part * static_cast<Number>(extent);
      rest = part;
      return static_cast<index_t>(position);
    };
    const index_t k = next(loops.extent[loops.depth - 1]);
    const T* source = from + k * from_step;
    target[visit] = to + k * to_step;
    for (int level = loops.depth - 2; level >= 0; --level) {
      const index_t position = next(loops.extent[level]);
      source += position * loops.from[level];
      target[visit] += position * loops.to[level];
    }
    in[visit] = *source;
    out[visit] = *target[visit];  // the compiler drops this if f does not read it
  }
#pragma unroll
  for (int visit = 0; visit < visits; ++visit) {
    if (target[visit] == nullptr) continue;
    f(in[visit], out[visit]);
    *target[visit] = out[visit];
  }
}

template <int visits, class T, class F>
void visit_points(Cuda device, const BoxLoops& loops, const T* from, index_t from_step, T* to,
                  index_t to_step, F f) {
  constexpr index_t each = index_t{detail::cuda_threads} * visits;
  const index_t count = loops.rows() * loops.extent[loops.depth - 1];
  const auto blocks = static_cast<unsigned>((count + each - 1) / each);
  const auto launch = [&](auto number) {
    using Number = decltype(number);
    visit_kernel<Number, visits><<<blocks, detail::cuda_threads, 0, detail::stream_of(device)>>>(
        loops, static_cast<Number>(count), from, from_step, to, to_step, f);
  };
  // Divisions of 32 bits are several times faster.
  if (count <= 0x7fffffff) {
    launch(std::uint32_t{});
  } else {
    launch(index_t{});
  }
  detail::check_cuda_launch();
}

/// The steps of the innermost loop are separate arguments, so that the compiler can see steps of
/// one. In long rows a thread has several loads in flight; short rows are faster without.
template <class T, class F>
void visit_points(Cuda device, const BoxLoops& loops, const T* from, index_t from_step, T* to,
                  index_t to_step, F f) {
  if (loops.extent[loops.depth - 1] >= 32) {
    visit_points<4>(device, loops, from, from_step, to, to_step, f);
  } else {
    visit_points<1>(device, loops, from, from_step, to, to_step, f);
  }
}

/// Transposes tiles in shared memory, so that global memory is read and written in contiguous runs.
template <class T, class F>
__global__ void __launch_bounds__(detail::cuda_threads)
    transpose_kernel(const __grid_constant__ BoxLoops loops, const T* from, T* to, F f) {
  __shared__ alignas(16) unsigned char memory[tile * (tile + 1) * sizeof(T)];
  auto* shared = reinterpret_cast<T*>(memory);  // padded rows avoid bank conflicts
  const int row = loops.depth - 2;
  const int column = loops.depth - 1;
  const auto row_tiles = static_cast<unsigned>((loops.extent[row] + tile - 1) / tile);
  const auto column_tiles = static_cast<unsigned>((loops.extent[column] + tile - 1) / tile);
  const index_t first_column = blockIdx.x % column_tiles * tile;
  const index_t first_row = blockIdx.x / column_tiles % row_tiles * tile;
  const T* source = from + first_row + first_column * loops.from[column];
  T* target = to + first_column + first_row * loops.to[row];
  index_t rest = blockIdx.x / column_tiles / row_tiles;
  for (int level = row - 1; level >= 0; --level) {
    source += rest % loops.extent[level] * loops.from[level];
    target += rest % loops.extent[level] * loops.to[level];
    rest /= loops.extent[level];
  }
  const index_t rows = min(tile, loops.extent[row] - first_row);
  const index_t columns = min(tile, loops.extent[column] - first_column);
  const index_t x = threadIdx.x;
  for (index_t c = threadIdx.y; c < columns; c += blockDim.y) {
    if (x < rows) shared[c * (tile + 1) + x] = source[x + c * loops.from[column]];
  }
  __syncthreads();
  for (index_t r = threadIdx.y; r < rows; r += blockDim.y) {
    if (x < columns) f(shared[x * (tile + 1) + r], target[x + r * loops.to[row]]);
  }
}

template <class T, class F>
void visit_tiles(Cuda device, const BoxLoops& loops, const T* from, T* to, F f) {
  const auto tiles_of = [&](int level) { return (loops.extent[level] + tile - 1) / tile; };
  const int row = loops.depth - 2;
  const index_t tiles =
      loops.rows() / loops.extent[row] * tiles_of(row) * tiles_of(loops.depth - 1);
  transpose_kernel<<<static_cast<unsigned>(tiles), dim3(tile, detail::cuda_threads / tile), 0,
                     detail::stream_of(device)>>>(loops, from, to, f);
  detail::check_cuda_launch();
}

/// Applies f to the elements of two packs.
template <class F>
struct ForPack {
  F f;
  template <class T>
  __device__ void operator()(const detail::Pack<T>& source, detail::Pack<T>& target) const {
    const detail::Pack<T> in = source;
    detail::Pack<T> out = target;
#pragma unroll
    for (int k = 0; k < detail::Pack<T>::width; ++k) f(in.at[k], out.at[k]);
    target = out;
  }
};

/// Converts the loops to packs of `width` elements; false if rows are not multiples of a pack.
inline bool make_packed(BoxLoops& loops, index_t width) {
  for (int level = 0; level + 1 < loops.depth; ++level) {
    if (loops.from[level] % width != 0 || loops.to[level] % width != 0) return false;
    loops.from[level] /= width;
    loops.to[level] /= width;
  }
  const int last = loops.depth - 1;
  if (loops.extent[last] % width != 0) return false;
  loops.extent[last] /= width;
  return true;
}

template <class T, class F>
void visit_rows(Cuda device, const BoxLoops& loops, const T* from, index_t from_step, T* to,
                index_t to_step, F f) {
  using Pack = detail::Pack<T>;
  BoxLoops packed = loops;
  if (from_step == 1 && to_step == 1 && Pack::width > 1 && detail::is_aligned(from) &&
      detail::is_aligned(to) && make_packed(packed, Pack::width)) {
    visit_points(device, packed, reinterpret_cast<const Pack*>(from), 1,
                 reinterpret_cast<Pack*>(to), 1, ForPack<F>{f});
  } else {
    visit_points(device, loops, from, from_step, to, to_step, f);
  }
}

}  // namespace weft::kernels
