#pragma once

// Division of host loops among the threads of a rank.

#include <weft/core/shape.hpp>

#include <algorithm>
#include <numeric>

namespace weft::detail {

/// Smaller loops run on one thread: starting a second one takes longer than the loop
/// (threads_bench, vector_bench).
inline constexpr index_t parallel_grain = 32768;

/// The number of threads of this rank: set by launch, or OMP_NUM_THREADS.
int max_threads();

inline int threads_for(index_t elements) { return elements < parallel_grain ? 1 : max_threads(); }

/// With this many jobs per thread, an uneven division costs little (see threads_bench).
inline constexpr index_t many_jobs = 8;

/// Runs job(0), ..., job(jobs - 1), divided evenly among the threads. One thread needs no parallel
/// region, which takes as long as a small loop. Each thread has its own copy of `job`, so that its
/// captures stay in registers.
template <class Job>
void share_jobs(index_t jobs, int threads, Job job) {
  if (threads == 1) {
    for (index_t i = 0; i < jobs; ++i) job(i);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads) firstprivate(job)
  for (index_t i = 0; i < jobs; ++i) job(i);
}

/// Calls body(row, begin, end) for pieces of rows of `length` elements. Pieces are whole rows
/// unless there are too few rows to balance the threads.
template <class Body>
void share_rows(index_t rows, index_t length, int threads, Body body) {
  constexpr index_t least = 256;  // elements per piece
  index_t pieces = 1;
  if (threads > 1 && rows < many_jobs * threads) {
    pieces =
        std::max<index_t>(1, std::min(threads / std::gcd(rows, index_t{threads}), length / least));
  }
  share_jobs(rows * pieces, threads, [=](index_t job) {
    const index_t piece = job % pieces;
    body(job / pieces, length * piece / pieces, length * (piece + 1) / pieces);
  });
}

}  // namespace weft::detail
