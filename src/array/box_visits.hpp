#pragma once

// Visiting a box on the CPU; for box_kernels.cpp only.

#include <weft/kernel/for_each.hpp>

#include "array/box_loops.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace weft::kernels {

/// Calls body(source, target, length) for all rows, or for pieces of them.
template <class T, class Body>
void for_each_row(const BoxLoops& loops, const T* from, index_t from_step, T* to, index_t to_step,
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
  // Interleaved rows, such as the columns of a narrow matrix, share cache lines. A thread takes the
  // same piece of all rows, small enough for the lines to stay in its cache.
  constexpr index_t piece = 1024;
  const index_t pieces = threads * ((length + threads * piece - 1) / (threads * piece));
  detail::share_jobs(pieces, threads, [&](index_t job) {
    for (index_t row = 0; row < rows; ++row) {
      visit(row, length * job / pieces, length * (job + 1) / pieces);
    }
  });
}

template <class T, class F>
void visit_rows(Cpu, const BoxLoops& loops, const T* from, index_t from_step, T* to,
                index_t to_step, F f) {
  if constexpr (std::is_same_v<F, Assign>) {
    if (from_step == 1 && to_step == 1) {
      // Unlike a loop, memcpy writes long runs with non-temporal stores.
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

/// Runs the two innermost loops tile by tile, so that every cache line is used completely.
template <class T, class F>
void visit_tiles(Cpu, const BoxLoops& loops, const T* from, T* to, F f) {
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
    // The loops of whole tiles have constant length, and are unrolled.
    if (rows == tile && columns == tile) {
      visit(tile, tile);
    } else {
      visit(rows, columns);
    }
  });
}

}  // namespace weft::kernels
