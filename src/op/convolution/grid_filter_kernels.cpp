#include "op/convolution/grid_filter_kernels.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"
#include "kernel/multiply_add.hpp"
#include "op/convolution/filter_tile.hpp"
#include "op/convolution/row_offset.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

#if defined(__CUDACC__)

template <class T, class Update>
void filter_rows(Cuda device, PaddedRows rows, index_t taps, const index_t* shifts, const T* c,
                 const T* x, T* y, Update update) {
  for_each(device, index_t{1}, rows.count, rows.length,
           [=] WEFT_KERNEL(index_t, index_t row, index_t k) {
             const T* from = x + row_offset(rows, row) + k;
             T sum{};
             for (index_t t = 0; t < taps; ++t) sum = multiply_add(c[t], from[shifts[t]], sum);
             update(sum, y[row * rows.length + k]);
           });
}

#else

/// The whole of a row that is shorter than a tile, with sums in memory.
template <class T, class Update>
void filter_short_row(index_t length, index_t taps, const index_t* shifts, const T* c,
                      const T* from, T* to, Update update) {
  T sums[static_cast<std::size_t>(Tile<T>::width)];
  std::fill_n(sums, length, T{});
  for (index_t t = 0; t < taps; ++t) {
    const T* source = from + shifts[t];
    const T coefficient = c[t];
#pragma omp simd
    for (index_t k = 0; k < length; ++k) sums[k] = multiply_add(coefficient, source[k], sums[k]);
  }
  for (index_t k = 0; k < length; ++k) update(sums[k], to[k]);
}

template <class T, class Update>
void filter_rows(Cpu, PaddedRows rows, index_t taps, const index_t* shifts, const T* c, const T* x,
                 T* y, Update update) {
  constexpr index_t width = Tile<T>::width;
  constexpr index_t piece = 16 * width;
  const index_t pieces = (rows.length + piece - 1) / piece;
  const int threads = detail::threads_for(rows.count * rows.length * taps);
  detail::share_jobs(rows.count * pieces, threads, [=](index_t job) {
    const index_t row = job / pieces;
    const T* from = x + row_offset(rows, row);
    T* to = y + row * rows.length;
    if (rows.length < width) {
      return filter_short_row(rows.length, taps, shifts, c, from, to, update);
    }
    const index_t begin = job % pieces * piece;
    const index_t end = std::min(begin + piece, rows.length);
    for (index_t k = begin; k < end; k += width) {
      // The last tile of a row overlaps the one before it rather than the end of the row.
      const index_t at = std::min(k, rows.length - width);
      Tile<T> tile;
      tile.add(
          from + at, [=](index_t t) { return shifts[t]; }, taps, c, 1);
      for (index_t j = k - at; j < width; ++j) update(tile.sums[j], to[at + j]);
    }
  });
}

#endif

}  // namespace

template <class Device, class T>
void apply_grid_filter(Device device, PaddedRows rows, index_t taps, const index_t* shifts,
                       const T* c, T alpha, const T* x, T beta, T* y) {
  if (rows.count * rows.length == 0) return;
  with_update(alpha, beta,
              [&](auto update) { filter_rows(device, rows, taps, shifts, c, x, y, update); });
}

#define INSTANTIATE(T)                                                                             \
  template void apply_grid_filter(WEFT_THIS_DEVICE, PaddedRows, index_t, const index_t*, const T*, \
                                  T, const T*, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
