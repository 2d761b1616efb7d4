#include "array/box_kernels.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace weft::kernels {
namespace {

/// The loops over a box: the innermost last, as few as its memory allows.
struct Loops {
  Index extent;
  Index from;
  Index to;
  int depth = 0;

  index_t rows() const {
    index_t product = 1;
    for (int level = 0; level + 1 < depth; ++level) product *= extent[level];
    return product;
  }
  /// The innermost loop runs over neighbours on both sides.
  bool has_runs() const { return from[depth - 1] == 1 && to[depth - 1] == 1; }
  void swap_levels(int a, int b) {
    std::swap(extent[a], extent[b]);
    std::swap(from[a], from[b]);
    std::swap(to[a], to[b]);
  }
};

Loops plan_loops(const Shape& shape, const Index& from_strides, const Index& to_strides) {
  Loops loops;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (shape[axis] == 1) continue;
    const int last = loops.depth - 1;
    if (last >= 0 && loops.from[last] == shape[axis] * from_strides[axis] &&
        loops.to[last] == shape[axis] * to_strides[axis]) {
      loops.extent[last] *= shape[axis];
      loops.from[last] = from_strides[axis];
      loops.to[last] = to_strides[axis];
      continue;
    }
    loops.extent[loops.depth] = shape[axis];
    loops.from[loops.depth] = from_strides[axis];
    loops.to[loops.depth] = to_strides[axis];
    ++loops.depth;
  }
  if (loops.depth == 0) {
    loops.extent[0] = loops.from[0] = loops.to[0] = 1;
    loops.depth = 1;
  }
#if !defined(__CUDACC__)
  // A thin box, such as a halo along the last axis, has its long loop elsewhere. Threads of a GPU
  // are better off with neighbours in memory.
  const int last = loops.depth - 1;
  if (loops.extent[last] < 16) {
    int longest = last;
    for (int level = 0; level < last; ++level) {
      if (loops.extent[level] > loops.extent[longest]) longest = level;
    }
    for (int level = longest; level < last; ++level) loops.swap_levels(level, level + 1);
  }
#endif
  return loops;
}

/// Of a tile for transposition.
#if defined(__CUDACC__)
constexpr index_t tile = 32;
#else
constexpr index_t tile = 8;  // measured: larger ones, and ones that go through a buffer, are slower
#endif

/// Moves a long loop over neighbours in `to`, and before it one over neighbours in `from`, to the
/// innermost places; false if there are no such two.
bool make_transposition(Loops& loops) {
  int in_from = -1;
  int in_to = -1;
  for (int level = 0; level < loops.depth; ++level) {
    if (loops.extent[level] < tile) continue;
    if (loops.from[level] == 1 && loops.to[level] != 1) in_from = level;
    if (loops.to[level] == 1 && loops.from[level] != 1) in_to = level;
  }
  if (in_from < 0 || in_to < 0) return false;
  loops.swap_levels(in_to, loops.depth - 1);
  if (in_from == loops.depth - 1) in_from = in_to;
  loops.swap_levels(in_from, loops.depth - 2);
  return true;
}

struct Assign {
  template <class T>
  WEFT_FUNCTION void operator()(const T& source, T& target) const {
    target = source;
  }
};
struct Accumulate {
  template <class T>
  WEFT_FUNCTION void operator()(const T& source, T& target) const {
    target += source;
  }
};

template <class T>
struct Scale {
  T beta;
  WEFT_FUNCTION void operator()(const T&, T& target) const { target = beta * target; }
};
struct Clear {
  template <class T>
  WEFT_FUNCTION void operator()(const T&, T& target) const {
    target = T{};
  }
};

#if defined(__CUDACC__)

/// f(source, target) for all points of a box. Number is what divisions are done in.
template <class Number, int visits, class T, class F>
__global__ void __launch_bounds__(detail::cuda_threads)
    visit_kernel(const __grid_constant__ Loops loops, Number count, const T* from,
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
    out[visit] = *target[visit];  // dropped where f does not read it
  }
#pragma unroll
  for (int visit = 0; visit < visits; ++visit) {
    if (target[visit] == nullptr) continue;
    f(in[visit], out[visit]);
    *target[visit] = out[visit];
  }
}

template <int visits, class T, class F>
void visit_points(Cuda device, const Loops& loops, const T* from, index_t from_step, T* to,
                  index_t to_step, F f) {
  constexpr index_t each = index_t{detail::cuda_threads} * visits;
  const index_t count = loops.rows() * loops.extent[loops.depth - 1];
  const auto blocks = static_cast<unsigned>((count + each - 1) / each);
  const auto launch = [&](auto number) {
    using Number = decltype(number);
    visit_kernel<Number, visits><<<blocks, detail::cuda_threads, 0, detail::stream_of(device)>>>(
        loops, static_cast<Number>(count), from, from_step, to, to_step, f);
  };
  // Divisions of 32 bits, where they suffice, are several times faster.
  if (count <= 0x7fffffff) {
    launch(std::uint32_t{});
  } else {
    launch(index_t{});
  }
  detail::check_cuda_launch();
}

/// The steps of the innermost loop are passed apart, so that the compiler can see where they are
/// one. In long rows a thread has several loads under way; short ones are faster one by one.
template <class T, class F>
void visit_points(Cuda device, const Loops& loops, const T* from, index_t from_step, T* to,
                  index_t to_step, F f) {
  if (loops.extent[loops.depth - 1] >= 32) {
    visit_points<4>(device, loops, from, from_step, to, to_step, f);
  } else {
    visit_points<1>(device, loops, from, from_step, to, to_step, f);
  }
}

/// Tiles go through the memory that a block shares, so that both sides are read and written in
/// runs.
template <class T, class F>
__global__ void __launch_bounds__(detail::cuda_threads)
    transpose_kernel(const __grid_constant__ Loops loops, const T* from, T* to, F f) {
  __shared__ alignas(16) unsigned char memory[tile * (tile + 1) * sizeof(T)];
  auto* shared = reinterpret_cast<T*>(memory);  // rows of one more, to spread them over all banks
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
void visit_tiles(Cuda device, const Loops& loops, const T* from, T* to, F f) {
  const auto tiles_of = [&](int level) { return (loops.extent[level] + tile - 1) / tile; };
  const int row = loops.depth - 2;
  const index_t tiles =
      loops.rows() / loops.extent[row] * tiles_of(row) * tiles_of(loops.depth - 1);
  transpose_kernel<<<static_cast<unsigned>(tiles), dim3(tile, detail::cuda_threads / tile), 0,
                     detail::stream_of(device)>>>(loops, from, to, f);
  detail::check_cuda_launch();
}

/// f for all elements of two packs.
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

/// Counts in packs of `width` elements; false if the rows do not divide into them.
bool make_packed(Loops& loops, index_t width) {
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
void visit_rows(Cuda device, const Loops& loops, const T* from, index_t from_step, T* to,
                index_t to_step, F f) {
  using Pack = detail::Pack<T>;
  Loops packed = loops;
  if (from_step == 1 && to_step == 1 && Pack::width > 1 && detail::is_aligned(from) &&
      detail::is_aligned(to) && make_packed(packed, Pack::width)) {
    visit_points(device, packed, reinterpret_cast<const Pack*>(from), 1,
                 reinterpret_cast<Pack*>(to), 1, ForPack<F>{f});
  } else {
    visit_points(device, loops, from, from_step, to, to_step, f);
  }
}

#else

/// body(source, target, length) for the first elements of all rows, or of pieces of them.
template <class T, class Body>
void for_each_row(const Loops& loops, const T* from, index_t from_step, T* to, index_t to_step,
                  Body body) {
  const index_t rows = loops.rows();
  const index_t length = loops.extent[loops.depth - 1];
  const auto visit = [&](index_t row, index_t begin, index_t end) {
    const T* source = from + begin * from_step;
    T* target = to + begin * to_step;
    index_t rest = row;
    for (int level = loops.depth - 2; level >= 0; --level) {
      source += rest % loops.extent[level] * loops.from[level];
      target += rest % loops.extent[level] * loops.to[level];
      rest /= loops.extent[level];
    }
    body(source, target, end - begin);
  };
  const int threads = detail::threads_for(rows * length);
  const bool is_interleaved = rows > 1 && (from_step != 1 || to_step != 1);
  if (!is_interleaved || rows >= detail::many_jobs * threads) {
    return detail::share_rows(rows, length, threads, visit);
  }
  // Such rows, the columns of a narrow matrix, have their lines of the cache in common. One thread
  // takes the same piece of all of them, and so small a one that the lines are still in its cache.
  constexpr index_t piece = 1024;
  const index_t pieces = threads * ((length + threads * piece - 1) / (threads * piece));
  detail::share_jobs(pieces, threads, [&](index_t job) {
    for (index_t row = 0; row < rows; ++row) {
      visit(row, length * job / pieces, length * (job + 1) / pieces);
    }
  });
}

template <class T, class F>
void visit_rows(Cpu, const Loops& loops, const T* from, index_t from_step, T* to, index_t to_step,
                F f) {
  if constexpr (std::is_same_v<F, Assign>) {
    if (from_step == 1 && to_step == 1) {
      // memcpy writes long runs without reading the target first, which a loop cannot.
      for_each_row(loops, from, 1, to, 1, [](const T* source, T* target, index_t length) {
        std::memcpy(static_cast<void*>(target), source,
                    static_cast<std::size_t>(length) * sizeof(T));
      });
      return;
    }
  }
  for_each_row(loops, from, from_step, to, to_step,
               [=](const T* source, T* target, index_t length) {
#pragma omp simd
                 for (index_t k = 0; k < length; ++k) f(source[k * from_step], target[k * to_step]);
               });
}

/// The two innermost loops, tile by tile: cache lines that a tile has touched are used to the end.
template <class T, class F>
void visit_tiles(Cpu, const Loops& loops, const T* from, T* to, F f) {
  const int row = loops.depth - 2;
  const int column = loops.depth - 1;
  const index_t row_tiles = (loops.extent[row] + tile - 1) / tile;
  const index_t column_tiles = (loops.extent[column] + tile - 1) / tile;
  const index_t tiles = loops.rows() / loops.extent[row] * row_tiles * column_tiles;
  const index_t from_step = loops.from[column];
  const index_t to_step = loops.to[row];
  detail::share_jobs(tiles, detail::threads_for(tiles * tile * tile), [&](index_t job) {
    const index_t first_column = job % column_tiles * tile;
    const index_t first_row = job / column_tiles % row_tiles * tile;
    const T* source = from + first_row + first_column * from_step;
    T* target = to + first_column + first_row * to_step;
    index_t rest = job / column_tiles / row_tiles;
    for (int level = row - 1; level >= 0; --level) {
      source += rest % loops.extent[level] * loops.from[level];
      target += rest % loops.extent[level] * loops.to[level];
      rest /= loops.extent[level];
    }
    const index_t rows = std::min(tile, loops.extent[row] - first_row);
    const index_t columns = std::min(tile, loops.extent[column] - first_column);
    const auto visit = [=](index_t row_end, index_t column_end) __attribute__((always_inline)) {
      for (index_t r = 0; r < row_end; ++r) {
        for (index_t c = 0; c < column_end; ++c) {
          f(source[c * from_step + r], target[r * to_step + c]);
        }
      }
    };
    // Whole tiles have loops of known length, which are unrolled.
    if (rows == tile && columns == tile) {
      visit(tile, tile);
    } else {
      visit(rows, columns);
    }
  });
}

#endif

template <class Device, class T, class F>
void visit_box(Device device, const Shape& shape, const T* from, const Index& from_strides, T* to,
               const Index& to_strides, F f) {
  if (shape.count() == 0) return;
  Loops loops = plan_loops(shape, from_strides, to_strides);
  if (make_transposition(loops)) return visit_tiles(device, loops, from, to, f);
  const int last = loops.depth - 1;
  if (loops.has_runs()) {
    visit_rows(device, loops, from, 1, to, 1, f);
  } else {
    visit_rows(device, loops, from, loops.from[last], to, loops.to[last], f);
  }
}

}  // namespace

template <class Device, class T>
void copy_box(Device device, const Shape& shape, const T* from, const Index& from_strides, T* to,
              const Index& to_strides) {
  visit_box(device, shape, from, from_strides, to, to_strides, Assign{});
}

template <class Device, class T>
void add_box(Device device, const Shape& shape, const T* from, const Index& from_strides, T* to,
             const Index& to_strides) {
  visit_box(device, shape, from, from_strides, to, to_strides, Accumulate{});
}

template <class Device, class T>
void axpby_box(Device device, const Shape& shape, T alpha, const T* from, const Index& from_strides,
               T beta, T* to, const Index& to_strides) {
  if (!is_nonzero(beta) && !is_nonzero(alpha - T{1})) {
    return copy_box(device, shape, from, from_strides, to, to_strides);
  }
  with_update(alpha, beta,
              [&](auto put) { visit_box(device, shape, from, from_strides, to, to_strides, put); });
}

template <class Device, class T>
void scale_box(Device device, const Shape& shape, T beta, T* x, const Index& strides) {
  if (is_nonzero(beta)) {
    visit_box(device, shape, x, strides, x, strides, Scale<T>{beta});
  } else {
    visit_box(device, shape, x, strides, x, strides, Clear{});
  }
}

#define INSTANTIATE(T)                                                                             \
  template void copy_box(WEFT_THIS_DEVICE, const Shape&, const T*, const Index&, T*,               \
                         const Index&);                                                            \
  template void add_box(WEFT_THIS_DEVICE, const Shape&, const T*, const Index&, T*, const Index&); \
  template void axpby_box(WEFT_THIS_DEVICE, const Shape&, T, const T*, const Index&, T, T*,        \
                          const Index&);                                                           \
  template void scale_box(WEFT_THIS_DEVICE, const Shape&, T, T*, const Index&);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
