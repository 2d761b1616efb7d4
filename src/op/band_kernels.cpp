#include "op/band_kernels.hpp"

#include <weft/core/complex.hpp>
#include <weft/core/for_each.hpp>

#include "array/update_math.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

#if defined(__CUDACC__)

template <class T, class Put>
void band_each(Cuda device, index_t outer, index_t n, index_t inner, index_t taps, index_t first,
               const T* coefficients, bool vary, BandInput<T> input, T* y, Put put) {
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
      sum += coefficients[t * tap_step + i * place_step] * line[at * inner + k];
    }
    put(sum, y[(o * n + i) * inner + k]);
  });
}

#else

/// Elements that are summed up together: their sums stay in the innermost cache.
constexpr index_t block = 256;

/// A piece of a line in memory: line[p] for begin <= p < end.
template <class T>
struct Segment {
  const T* line = nullptr;
  index_t begin = 0;
  index_t end = 0;
};

/// The line is taken as one row of n inner elements, so that neighbours along the axis are `inner`
/// apart and loops are long whatever the axis is.
template <class T, class Put>
void band_each(Cpu, index_t outer, index_t n, index_t inner, index_t taps, index_t first,
               const T* coefficients, bool vary, BandInput<T> input, T* y, Put put) {
  // Where coefficients vary they are the same for a block, or change with every element.
  const bool each = vary && inner == 1;
  const index_t row = vary && !each ? inner : n * inner;
  const index_t length = std::min(block, row);
  const index_t blocks_per_row = (row + length - 1) / length;
  const index_t rows = n * inner / row;
  const index_t jobs = outer * rows * blocks_per_row;
#pragma omp parallel for schedule(static) if (detail::threads_for(outer * n * inner * taps) > 1)
  for (index_t job = 0; job < jobs; ++job) {
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
    T sums[block] = {};
    for (index_t t = 0; t < taps; ++t) {
      const index_t ahead = (t - first) * inner;
      const T* of_tap = vary ? coefficients + t * n : coefficients + t;
      for (const Segment<T>& segment : segments) {
        const index_t from = std::max(begin, segment.begin - ahead);
        const index_t to = std::min(end, segment.end - ahead);
        if (from >= to) continue;
        const T* source = segment.line + ahead;
        if (each) {
#pragma omp simd
          for (index_t p = from; p < to; ++p) sums[p - begin] += of_tap[p] * source[p];
        } else {
          const T coefficient = of_tap[vary ? which : 0];
#pragma omp simd
          for (index_t p = from; p < to; ++p) sums[p - begin] += coefficient * source[p];
        }
      }
    }
    T* target = y + o * n * inner;
#pragma omp simd
    for (index_t p = begin; p < end; ++p) put(sums[p - begin], target[p]);
  }
}

#endif

}  // namespace

template <class Device, class T>
void apply_band(Device device, index_t outer, index_t n, index_t inner, index_t taps, index_t first,
                const T* coefficients, bool vary, T alpha, BandInput<T> input, T beta, T* y) {
  if (outer * n * inner == 0) return;
  with_update(alpha, beta, [&](auto put) {
    band_each(device, outer, n, inner, taps, first, coefficients, vary, input, y, put);
  });
}

#define INSTANTIATE(T)                                                                    \
  template void apply_band(WEFT_THIS_DEVICE, index_t, index_t, index_t, index_t, index_t, \
                           const T*, bool, T, BandInput<T>, T, T*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
