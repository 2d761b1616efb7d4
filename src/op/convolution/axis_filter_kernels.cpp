#include "op/convolution/axis_filter_kernels.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "kernel/multiply_add.hpp"
#include "op/convolution/filter_tile.hpp"

#if !defined(__CUDACC__)
#include "kernel/non_temporal.hpp"
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::kernels {
namespace {

#if defined(__CUDACC__)

template <class T, class Update>
void filter_each(Cuda device, index_t outer, index_t n, index_t inner, index_t taps, index_t first,
                 const T* coefficients, bool vary, FilterInput<T> input, T* y, Update update) {
  const index_t tap_step = vary ? n : 1;
  const index_t position_step = vary ? 1 : 0;
  for_each(device, outer, n, inner, [=] WEFT_KERNEL(index_t o, index_t i, index_t k) {
    T sum{};
    for (index_t t = 0; t < taps; ++t) {
      const index_t at = i + t - first;
      if (at < -input.before || at >= n + input.after) continue;
      const T* line = at < 0    ? input.ghosts_before + (o + 1) * input.before * inner
                      : at >= n ? input.ghosts_after + (o * input.after - n) * inner
                                : input.x + o * n * inner;
      sum = multiply_add(coefficients[t * tap_step + i * position_step], line[at * inner + k], sum);
    }
    update(sum, y[(o * n + i) * inner + k]);
  });
}

#else

/// Elements that are summed together; their sums stay in the L1 cache. Measured by the rows "CGLS,
/// post-stack" of `make compare`, a filter of 41 taps, and "convolve1d" of threads_bench, 15 taps.
constexpr index_t block_size = 1024;

/// A contiguous piece of a line: line[p] for begin <= p < end.
template <class T>
struct Segment {
  const T* line = nullptr;
  index_t begin = 0;
  index_t end = 0;
};

/// A block of a line: elements [begin, end), with the same coefficients for all of them, or with
/// coefficients per element. The target of sums begins with the block.
template <class T>
struct FilterBlock {
  index_t begin;
  index_t end;
  index_t inner;
  index_t taps;
  index_t first;
  const T* coefficients;
  index_t tap_step;
  bool per_element;
};

/// Sums over elements and ghost cells at any position, with sums in memory.
template <class T, class Update>
void sum_general(const FilterBlock<T>& block, const Segment<T> (&segments)[3], T* target,
                 Update update) {
  const index_t begin = block.begin;
  const index_t end = block.end;
  T sums[block_size];
  std::fill_n(sums, end - begin, T{});
  for (index_t t = 0; t < block.taps; ++t) {
    const index_t ahead = (t - block.first) * block.inner;
    const T* of_tap = block.coefficients + t * block.tap_step;
    for (const Segment<T>& segment : segments) {
      const index_t from = std::max(begin, segment.begin - ahead);
      const index_t to = std::min(end, segment.end - ahead);
      if (from >= to) continue;
      const T* source = segment.line + ahead;
      if (block.per_element) {
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
  for (index_t p = begin; p < end; ++p) update(sums[p - begin], target[p - begin]);
}

/// Sums in tiles. All neighbours of the block are in memory from `x` on; elements beyond the last
/// one that is needed may be read as well.
template <class T, class Update>
void sum_tiles(const FilterBlock<T>& block, const T* x, T* target, Update update) {
  for (index_t p = block.begin; p < block.end; p += Tile<T>::width, x += Tile<T>::width) {
    Tile<T> tile;
    tile.add(
        x, [&](index_t t) { return t * block.inner; }, block.taps, block.coefficients,
        block.tap_step);
    const index_t count = std::min(Tile<T>::width, block.end - p);
    for (index_t j = 0; j < count; ++j) update(tile.sums[j], target[p - block.begin + j]);
  }
}

/// Sums in tiles for a few elements near an end of the line, from a copy of their neighbours padded
/// with zeros.
template <class T, class Update>
void sum_line_end(const FilterBlock<T>& block, const Segment<T> (&segments)[3], T* target,
                  Update update) {
  if (block.begin == block.end) return;
  constexpr index_t width = Tile<T>::width;
  constexpr index_t padded_size = 1024;  // of the copy on the stack
  const index_t tiles = (block.end - block.begin + width - 1) / width;
  const index_t count = tiles * width + (block.taps - 1) * block.inner;
  if (count > padded_size) return sum_general(block, segments, target, update);
  T padded[padded_size];
  std::fill_n(padded, count, T{});
  const index_t first = block.begin - block.first * block.inner;
  for (const Segment<T>& segment : segments) {
    const index_t from = std::max(first, segment.begin);
    const index_t to = std::min(first + count, segment.end);
    if (from < to) std::copy(segment.line + from, segment.line + to, padded + (from - first));
  }
  sum_tiles(block, padded, target, update);
}

/// Sums in tiles, directly from the line where it has all neighbours, otherwise from padded copies.
template <class T, class Update>
void sum_block(const FilterBlock<T>& block, const Segment<T> (&segments)[3], T* target,
               Update update) {
  if (block.per_element) return sum_general(block, segments, target, update);
  const Segment<T>& line = segments[0];
  const index_t before = block.first * block.inner;
  const index_t after = (block.taps - 1 - block.first) * block.inner;
  const index_t begin = std::clamp(line.begin + before, block.begin, block.end);
  const index_t inside = std::max<index_t>(0, std::min(block.end, line.end - after) - begin);
  const index_t end = begin + inside / Tile<T>::width * Tile<T>::width;
  const auto piece = [&](index_t from, index_t to) {
    FilterBlock<T> result = block;
    result.begin = from;
    result.end = to;
    return result;
  };
  sum_line_end(piece(block.begin, begin), segments, target, update);
  sum_tiles(piece(begin, end), line.line + begin - before, target + (begin - block.begin), update);
  sum_line_end(piece(end, block.end), segments, target + (end - block.begin), update);
}

/// Division of the n * inner elements of an outer index, which form one line, into blocks. Long
/// rows of `inner` elements are divided into strips, which are computed row by row: what the taps
/// read stays in the cache.
struct FilterBlocks {
  index_t row;
  index_t rows;
  index_t strips;
  index_t length;

  FilterBlocks(index_t n, index_t inner, bool row_by_row)
      : row(row_by_row || inner >= block_size ? inner : n * inner),
        rows(n * inner / row),
        strips((row + block_size - 1) / block_size),
        length(std::min(row, round_up((row + strips - 1) / strips))) {}
  index_t count() const { return rows * strips; }
  /// Block number `job`: its row, and where it begins in the row.
  index_t row_of(index_t job) const { return job % rows; }
  index_t begin_of(index_t job) const { return job / rows * length; }

 private:
  /// To whole cache lines of any type.
  static index_t round_up(index_t elements) { return (elements + 15) / 16 * 16; }
};

/// The line of an outer index, and its ghost cells.
template <class T>
struct Line {
  Segment<T> segments[3];

  Line(const FilterInput<T>& input, index_t o, index_t n, index_t inner)
      : segments{{input.x + o * n * inner, 0, n * inner}} {
    if (input.before > 0) {
      segments[1] = {input.ghosts_before + (o + 1) * input.before * inner, -input.before * inner,
                     0};
    }
    if (input.after > 0) {
      segments[2] = {input.ghosts_after + (o * input.after - n) * inner, n * inner,
                     (n + input.after) * inner};
    }
  }
};

/// Neighbours along the axis are `inner` apart in the line, so that loops are long for any axis.
template <class T, class Update>
void filter_each(Cpu, index_t outer, index_t n, index_t inner, index_t taps, index_t first,
                 const T* coefficients, bool vary, FilterInput<T> input, T* y, Update update) {
  // Coefficients that vary do so per element (inner = 1) or per row of `inner` elements.
  const bool per_element = vary && inner == 1;
  const FilterBlocks blocks(n, inner, vary && !per_element);
  bool non_temporal = false;
  if constexpr (std::is_same_v<Update, Assigned<T>>) {
    non_temporal = outer * n * inner * index_t{sizeof(T)} >= non_temporal_bytes &&
                   reinterpret_cast<std::uintptr_t>(y) % sizeof(T) == 0;
  }
  const index_t jobs = outer * blocks.count();
  detail::share_jobs(jobs, detail::threads_for(outer * n * inner * taps), [&](index_t job) {
    const index_t o = job / blocks.count();
    const index_t row = blocks.row_of(job % blocks.count());
    const index_t in_row = blocks.begin_of(job % blocks.count());
    const index_t begin = row * blocks.row + in_row;
    const index_t end = begin + std::min(blocks.length, blocks.row - in_row);
    const Line<T> line(input, o, n, inner);
    const T* of_block = coefficients + (vary && !per_element ? row : 0);
    T* const target = y + o * n * inner + begin;
    const FilterBlock<T> block{begin, end, inner, taps, first, of_block, vary ? n : 1, per_element};
    if (!non_temporal) return sum_block<T>(block, line.segments, target, update);
    T values[block_size];
    sum_block<T>(block, line.segments, values, update);
    copy_non_temporal(values, end - begin, target);
    fence_non_temporal_stores();
  });
}

#endif

}  // namespace

template <class Device, class T>
void apply_axis_filter(Device device, index_t outer, index_t n, index_t inner, index_t taps,
                       index_t first, const T* coefficients, bool vary, T alpha,
                       FilterInput<T> input, T beta, T* y) {
  if (outer * n * inner == 0) return;
  with_update(alpha, beta, [&](auto update) {
    filter_each(device, outer, n, inner, taps, first, coefficients, vary, input, y, update);
  });
}

#define INSTANTIATE(T)                                                                           \
  template void apply_axis_filter(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t, index_t, \
                                  const T*, bool, T, FilterInput<T>, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
