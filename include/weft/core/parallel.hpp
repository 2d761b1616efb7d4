#pragma once

// Division of host loops among the threads of a rank.

#include <weft/core/shape.hpp>

#include <algorithm>
#include <numeric>

namespace weft::detail {

/// Below this many elements a loop is over before a second thread would have joined in.
inline constexpr index_t parallel_grain = 32768;

/// Threads that a loop of this rank may use: what launch has given it, or OMP_NUM_THREADS.
int max_threads();

inline int threads_for(index_t elements) { return elements < parallel_grain ? 1 : max_threads(); }

/// Jobs per thread, of which one more or less makes no difference.
inline constexpr index_t many_jobs = 8;

/// job(0), ..., job(jobs - 1), divided evenly among so many threads. One alone does without a
/// parallel region, which takes as long as a small loop even if nobody joins in. Each thread has a
/// copy of what `job` has captured, which stays in registers as it does with one thread.
template <class Job>
void share_jobs(index_t jobs, int threads, Job job) {
  if (threads == 1) {
    for (index_t i = 0; i < jobs; ++i) job(i);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads) firstprivate(job)
  for (index_t i = 0; i < jobs; ++i) job(i);
}

/// body(row, begin, end) for pieces of rows of so many elements. They are whole rows, unless there
/// are too few of them to keep all threads equally busy.
template <class Body>
void share_rows(index_t rows, index_t length, int threads, Body body) {
  constexpr index_t least = 256;  // elements that are worth a piece
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
