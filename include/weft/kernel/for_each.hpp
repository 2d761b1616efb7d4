#pragma once

// Loops over index spaces, for *_kernels.cpp files only. Such a file is compiled once per device,
// and for the CPU once per level (see cpu_level.hpp); the macros name what this compilation is for.

#include <weft/core/device.hpp>
#include <weft/core/shape.hpp>

#if defined(__CUDACC__)

#include <weft/kernel/cuda/for_each.cuh>

/// Attributes of lambdas for for_each and reduce, and of functions that they call.
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

#include <weft/core/parallel.hpp>

namespace weft {

/// Calls f(i) for 0 <= i < n. Calls must be independent: they run in any order, in SIMD lanes and
/// on several threads.
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

/// Calls f(y[i], z[i], in[i]...) for 0 <= i < n, which may change y[i] and z[i].
template <class T, class F, class... In>
void update(Cpu device, index_t n, T* y, T* z, F f, const In*... in) {
  for_each(device, n, [=](index_t i) { f(y[i], z[i], in[i]...); });
}

/// Calls f(o, i, k) for the points of [outer, n, inner], with the same contract.
template <class F>
void for_each(Cpu, index_t outer, index_t n, index_t inner, F f) {
  const int threads = detail::threads_for(outer * n * inner);
  if (inner == 1) {
    // The innermost loop must be the long one to be vectorised.
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
