#include "op/convolution/axis_filter_kernels.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "kernel/multiply_add.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace weft::kernels {
namespace {

#if defined(__CUDACC__)

template <class T, class Put>
void filter_each(Cuda device, index_t outer, index_t n, index_t inner, index_t taps, index_t first,
                 const T* coefficients, bool vary, FilterInput<T> input, T* y, Put put) {
  const index_t tap_step = vary ? n : 1;
  const index_t place_step = vary ? 1 : 0;
  for_each(device, outer, n, inner, [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    T sum{};
    for (index_t t = 0; t < taps; ++t) {
      const index_t at = i + t - first;
      if (at < -input.before || at >= n + input.after) continue;
      const T* line = at < 0    ? input.ghosts_before + (o + 1) * input.before * inner
                      : at >= n ? input.ghosts_after + (o * input.after - n) * inner
                                : input.x + o * n * inner;
      sum = multiply_add(coefficients[t * tap_step + i * place_step], line[at * inner + k], sum);
    }
    put(sum, y[(o * n + i) * inner + k]);
  });
}

#else

/// Elements that are summed up together: their sums stay in the innermost cache.
constexpr index_t block = 1024;

/// A piece of a line in memory: line[p] for begin <= p < end.
template <class T>
struct Segment {
  const T* line = nullptr;
  index_t begin = 0;
  index_t end = 0;
};

/// Sums of as many elements as stay in registers while all taps are added to them: all that comes
/// from memory are their neighbours, which must all be in the line. There are eight registers, as
/// many as additions are under way at a time; with complex numbers, half of them have what is to be
/// multiplied by i.
template <class T>
struct Tile {
  using R = RealOf<T>;
  using Lanes [[gnu::vector_size(32)]] = R;
  using Unaligned [[gnu::vector_size(32), gnu::aligned(alignof(R)), gnu::may_alias]] = R;
  static constexpr index_t lanes = 32 / static_cast<index_t>(sizeof(R));
  static constexpr bool is_complex = !std::is_same_v<T, R>;
  static constexpr index_t width = is_complex ? 2 * lanes : 8 * lanes;

  T sums[static_cast<std::size_t>(width)];

  /// `x` is the neighbour for the first tap; others follow at distances of `step`.
  void add(const T* x, index_t step, index_t taps, const T* coefficients, index_t tap_step) {
    Lanes a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
    for (index_t t = 0; t < taps; ++t, x += step, coefficients += tap_step) {
      const auto* at = reinterpret_cast<const Unaligned*>(x);
      const R* coefficient = reinterpret_cast<const R*>(coefficients);
      const auto first = broadcast<Lanes>(coefficient[0]);
      const auto second = broadcast<Lanes>(coefficient[is_complex ? 1 : 0]);
      const auto* other = is_complex ? at : at + 4;
      a = multiply_add_lanes<R, Lanes>(first, at[0], a);
      b = multiply_add_lanes<R, Lanes>(first, at[1], b);
      c = multiply_add_lanes<R, Lanes>(first, at[2], c);
      d = multiply_add_lanes<R, Lanes>(first, at[3], d);
      e = multiply_add_lanes<R, Lanes>(second, other[0], e);
      f = multiply_add_lanes<R, Lanes>(second, other[1], f);
      g = multiply_add_lanes<R, Lanes>(second, other[2], g);
      h = multiply_add_lanes<R, Lanes>(second, other[3], h);
    }
    const Lanes all[8] = {a, b, c, d, e, f, g, h};
    if constexpr (is_complex) {
      R reals[8 * lanes];
      std::memcpy(reals, all, sizeof(all));
      const R* times_i = reals + 4 * lanes;
      for (index_t j = 0; j < width; ++j) {
        sums[j] = {reals[2 * j] - times_i[2 * j + 1], reals[2 * j + 1] + times_i[2 * j]};
      }
    } else {
      std::memcpy(sums, all, sizeof(all));
    }
  }
};

/// One block of a line: elements [begin, end), with one set of coefficients or, if they are of
/// `each`, with one per element.
template <class T>
struct FilterBlock {
  index_t begin;
  index_t end;
  index_t inner;
  index_t taps;
  index_t first;
  const T* coefficients;
  index_t tap_step;
  bool each;
};

template <class T, class Put>
void sum_anywhere(const FilterBlock<T>& part, const Segment<T> (&segments)[3], T* target, Put put) {
  const index_t begin = part.begin;
  const index_t end = part.end;
  T sums[block];
  std::fill_n(sums, end - begin, T{});
  for (index_t t = 0; t < part.taps; ++t) {
    const index_t ahead = (t - part.first) * part.inner;
    const T* of_tap = part.coefficients + t * part.tap_step;
    for (const Segment<T>& segment : segments) {
      const index_t from = std::max(begin, segment.begin - ahead);
      const index_t to = std::min(end, segment.end - ahead);
      if (from >= to) continue;
      const T* source = segment.line + ahead;
      if (part.each) {
#pragma omp simd
        for (index_t p = from; p < to; ++p) {
          sums[p - begin] = multiply_add(of_tap[p], source[p], sums[p - begin]);
        }
      } else {
        const T coefficient = of_tap[0];
#pragma omp simd
        for (index_t p = from; p < to; ++p) {
          sums[p - begin] = multiply_add(coefficient, source[p], sums[p - begin]);
        }
      }
    }
  }
#pragma omp simd
  for (index_t p = begin; p < end; ++p) put(sums[p - begin], target[p]);
}

/// Tiles of elements [begin, end), whose neighbours are all in memory from `x` on; some beyond the
/// last element may be read as well.
template <class T, class Put>
void sum_tiles(const FilterBlock<T>& part, const T* x, T* target, Put put) {
  for (index_t p = part.begin; p < part.end; p += Tile<T>::width, x += Tile<T>::width) {
    Tile<T> tile;
    tile.add(x, part.inner, part.taps, part.coefficients, part.tap_step);
    const index_t count = std::min(Tile<T>::width, part.end - p);
    for (index_t j = 0; j < count; ++j) put(tile.sums[j], target[p + j]);
  }
}

/// Tiles of a few elements near an end of the line, from a copy of their neighbours with zeros
/// where there are none.
template <class T, class Put>
void sum_end(const FilterBlock<T>& part, const Segment<T> (&segments)[3], T* target, Put put) {
  if (part.begin == part.end) return;
  constexpr index_t width = Tile<T>::width;
  constexpr index_t room = 1024;
  const index_t tiles = (part.end - part.begin + width - 1) / width;
  const index_t count = tiles * width + (part.taps - 1) * part.inner;
  if (count > room) return sum_anywhere(part, segments, target, put);
  T near[room];
  std::fill_n(near, count, T{});
  const index_t first = part.begin - part.first * part.inner;
  for (const Segment<T>& segment : segments) {
    const index_t from = std::max(first, segment.begin);
    const index_t to = std::min(first + count, segment.end);
    if (from < to) std::copy(segment.line + from, segment.line + to, near + (from - first));
  }
  sum_tiles(part, near, target, put);
}

/// In tiles right away as far as neighbours are all in the line, and otherwise as it comes.
template <class T, class Put>
void sum_block(const FilterBlock<T>& part, const Segment<T> (&segments)[3], T* target, Put put) {
  if (part.each) return sum_anywhere(part, segments, target, put);
  const Segment<T>& line = segments[0];
  const index_t before = part.first * part.inner;
  const index_t after = (part.taps - 1 - part.first) * part.inner;
  const index_t begin = std::clamp(line.begin + before, part.begin, part.end);
  const index_t inside = std::max<index_t>(0, std::min(part.end, line.end - after) - begin);
  const index_t end = begin + inside / Tile<T>::width * Tile<T>::width;
  const auto piece = [&](index_t from, index_t to) {
    FilterBlock<T> result = part;
    result.begin = from;
    result.end = to;
    return result;
  };
  sum_end(piece(part.begin, begin), segments, target, put);
  sum_tiles(piece(begin, end), line.line + begin - before, target, put);
  sum_end(piece(end, part.end), segments, target, put);
}

/// The line is taken as one row of n inner elements, so that neighbours along the axis are `inner`
/// apart and loops are long whatever the axis is.
template <class T, class Put>
void filter_each(Cpu, index_t outer, index_t n, index_t inner, index_t taps, index_t first,
                 const T* coefficients, bool vary, FilterInput<T> input, T* y, Put put) {
  // Where coefficients vary they are the same for a block, or change with every element.
  const bool each = vary && inner == 1;
  const index_t row = vary && !each ? inner : n * inner;
  const index_t length = std::min(block, row);
  const index_t blocks_per_row = (row + length - 1) / length;
  const index_t rows = n * inner / row;
  const index_t jobs = outer * rows * blocks_per_row;
  detail::share_jobs(jobs, detail::threads_for(outer * n * inner * taps), [&](index_t job) {
    const index_t o = job / (rows * blocks_per_row);
    const index_t which = job / blocks_per_row % rows;
    const index_t begin = which * row + job % blocks_per_row * length;
    const index_t end = std::min(begin + length, (which + 1) * row);
    Segment<T> segments[3] = {{input.x + o * n * inner, 0, n * inner}};
    if (input.before > 0) {
      segments[1] = {input.ghosts_before + (o + 1) * input.before * inner, -input.before * inner,
                     0};
    }
    if (input.after > 0) {
      segments[2] = {input.ghosts_after + (o * input.after - n) * inner, n * inner,
                     (n + input.after) * inner};
    }
    const T* of_block = coefficients + (vary && !each ? which : 0);
    sum_block<T>({begin, end, inner, taps, first, of_block, vary ? n : 1, each}, segments,
                 y + o * n * inner, put);
  });
}

#endif

}  // namespace

template <class Device, class T>
void apply_axis_filter(Device device, index_t outer, index_t n, index_t inner, index_t taps,
                       index_t first, const T* coefficients, bool vary, T alpha,
                       FilterInput<T> input, T beta, T* y) {
  if (outer * n * inner == 0) return;
  with_update(alpha, beta, [&](auto put) {
    filter_each(device, outer, n, inner, taps, first, coefficients, vary, input, y, put);
  });
}

#define INSTANTIATE(T)                                                                           \
  template void apply_axis_filter(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t, index_t, \
                                  const T*, bool, T, FilterInput<T>, T, T*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
