#pragma once

// Loops over index spaces, for *_kernels.cpp files only. Such a file is compiled once per device,
// and for the CPU once per level (see cpu_level.hpp); the macros name what this compilation is for.

#include <weft/core/device.hpp>
#include <weft/core/shape.hpp>

#if defined(__CUDACC__)

#include <weft/core/cuda/for_each.cuh>

/// What a lambda given to for_each or reduce is marked with, and a function that it calls.
#define WEFT_KERNEL __device__
#define WEFT_FUNCTION __host__ __device__
#define WEFT_THIS_DEVICE ::weft::Cuda

#else

#define WEFT_KERNEL
#define WEFT_FUNCTION
#if defined(WEFT_CPU_TAG)
#include <weft/core/cpu_level.hpp>
#define WEFT_THIS_DEVICE ::weft::WEFT_CPU_TAG
#else
#define WEFT_THIS_DEVICE ::weft::Cpu
#endif

#include <algorithm>
#include <numeric>

namespace weft {
namespace detail {

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

}  // namespace detail

/// f(i) for 0 <= i < n. Calls must not depend on one another: they run in any order, in SIMD lanes
/// and on several threads.
template <class F>
void for_each(Cpu, index_t n, F f) {
  if (detail::threads_for(n) == 1) {
#pragma omp simd
    for (index_t i = 0; i < n; ++i) f(i);
    return;
  }
#pragma omp parallel for simd schedule(static) firstprivate(f)
  for (index_t i = 0; i < n; ++i) f(i);
}

/// out[i] = f(in[i]...) for 0 <= i < n. `out` may be one of `in`.
template <class T, class F, class... In>
void transform(Cpu device, index_t n, T* out, F f, const In*... in) {
  for_each(device, n, [=](index_t i) { out[i] = f(in[i]...); });
}

/// f(y[i], z[i], in[i]...) for 0 <= i < n, which may change y[i] and z[i].
template <class T, class F, class... In>
void update(Cpu device, index_t n, T* y, T* z, F f, const In*... in) {
  for_each(device, n, [=](index_t i) { f(y[i], z[i], in[i]...); });
}

/// f(o, i, k) for the points of [outer, n, inner], under the same contract.
template <class F>
void for_each(Cpu, index_t outer, index_t n, index_t inner, F f) {
  const int threads = detail::threads_for(outer * n * inner);
  if (inner == 1) {
    // The innermost loop must be the long one, or nothing is left to vectorise.
    detail::share_rows(outer, n, threads, [=](index_t o, index_t begin, index_t end) {
#pragma omp simd
      for (index_t i = begin; i < end; ++i) f(o, i, index_t{0});
    });
    return;
  }
  detail::share_rows(outer * n, inner, threads, [=](index_t row, index_t begin, index_t end) {
    const index_t o = row / n;
    const index_t i = row % n;
#pragma omp simd
    for (index_t k = begin; k < end; ++k) f(o, i, k);
  });
}

}  // namespace weft

#endif
