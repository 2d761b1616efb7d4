#pragma once

// Loops over index spaces, for *_kernels.cpp files only. Such a file is compiled once per device;
// the macros name the device that this compilation is for.

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
#define WEFT_THIS_DEVICE ::weft::Cpu

namespace weft {
namespace detail {

/// Below this many elements a loop is over before a second thread would have joined in.
inline constexpr index_t parallel_grain = 32768;

/// Threads that a loop of this rank may use: what launch has given it, or OMP_NUM_THREADS.
int max_threads();

inline int threads_for(index_t elements) { return elements < parallel_grain ? 1 : max_threads(); }

/// job(0), ..., job(jobs - 1), divided evenly among so many threads. One alone does without a
/// parallel region, which takes as long as a small loop even if nobody joins in.
template <class Job>
void share_jobs(index_t jobs, int threads, Job job) {
  if (threads == 1) {
    for (index_t i = 0; i < jobs; ++i) job(i);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (index_t i = 0; i < jobs; ++i) job(i);
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
#pragma omp parallel for simd schedule(static)
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
  const index_t rows = outer * n;
  if (inner == 1) {
    // The innermost loop must be the long one, or nothing is left to vectorise.
    detail::share_jobs(outer, outer > 1 ? detail::threads_for(rows) : 1, [=](index_t o) {
#pragma omp simd
      for (index_t i = 0; i < n; ++i) f(o, i, index_t{0});
    });
    return;
  }
  detail::share_jobs(rows, detail::threads_for(rows * inner), [=](index_t row) {
    const index_t o = row / n;
    const index_t i = row % n;
#pragma omp simd
    for (index_t k = 0; k < inner; ++k) f(o, i, k);
  });
}

}  // namespace weft

#endif
