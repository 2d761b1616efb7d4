#pragma once

// Deterministic reductions over index spaces, for *_kernels.cpp files only.

#include <weft/core/for_each.hpp>
#include <weft/core/targets.hpp>

#if defined(__CUDACC__)

#include <weft/core/cuda/reduce.cuh>

#else

#include <array>
#include <cstddef>
#include <utility>

namespace weft {
namespace detail {

// Partial results per chunk and per lane are combined in a fixed order, and their number depends on
// n alone: the result does not change with the number of threads or the width of SIMD registers.
inline constexpr index_t reduce_chunks = 128;

template <class A>
inline constexpr int reduce_lanes = sizeof(A) <= 8 ? 16 : 8;

template <class A, class F, class Combine>
A reduce_range(index_t begin, index_t end, A identity, F f, Combine combine) {
  constexpr int lanes = reduce_lanes<A>;
  A lane[lanes];
  for (A& value : lane) value = identity;
  index_t i = begin;
  for (; i + lanes <= end; i += lanes) {
#pragma omp simd
    for (int l = 0; l < lanes; ++l) lane[l] = combine(lane[l], f(i + l));
  }
  for (int l = 0; i < end; ++i, ++l) lane[l] = combine(lane[l], f(i));
  for (int width = lanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] = combine(lane[l], lane[l + width]);
  }
  return lane[0];
}

}  // namespace detail

/// combine(f(0), f(1), ..., f(n-1)) starting from `identity`, in an order that depends on n alone.
/// Calls of f must not depend on one another, as in for_each.
template <class A, class F, class Combine>
A reduce(Cpu, index_t n, A identity, F f, Combine combine) {
  if (n < detail::parallel_grain) return detail::reduce_range(0, n, identity, f, combine);

  const index_t chunk = (n + detail::reduce_chunks - 1) / detail::reduce_chunks;
  std::array<A, detail::reduce_chunks> partial;
  detail::share_jobs(detail::reduce_chunks, detail::threads_for(n), [&](index_t c) {
    partial[static_cast<std::size_t>(c)] = detail::reduce_range(
        std::min(n, c * chunk), std::min(n, (c + 1) * chunk), identity, f, combine);
  });
  A total = identity;
  for (const A& value : partial) total = combine(total, value);
  return total;
}

/// The same into memory of the device, where it stays until somebody asks for it.
template <class A, class F, class Combine>
void reduce_into(Cpu device, index_t n, A identity, F f, Combine combine, A* out) {
  *out = reduce(device, n, identity, f, combine);
}

/// The same of f(first[i], in[i]...).
template <class A, class F, class Combine, class T, class... In>
void reduce_into(Cpu device, index_t n, A identity, F f, Combine combine, A* out, const T* first,
                 const In*... in) {
  reduce_into(
      device, n, identity, [=](index_t i) { return f(first[i], in[i]...); }, combine, out);
}

/// The same of f(y[i]..., in[i]...), which may change what is at i in the targets y.
template <class A, class T, int count, class F, class Combine, class... In>
void update_and_reduce_into(Cpu device, index_t n, A identity, Targets<T, count> y, F f,
                            Combine combine, A* out, const In*... in) {
  const auto reduce_all = [&]<std::size_t... t>(std::index_sequence<t...>) {
    reduce_into(
        device, n, identity, [=](index_t i) { return f(y.at[t][i]..., in[i]...); }, combine, out);
  };
  reduce_all(std::make_index_sequence<count>());
}

/// For each (o, k) of [outer, n, inner]: out(o, k, combine over i of f(o, i, k)), in an order that
/// depends on n and inner alone.
template <class A, class F, class Combine, class Out>
void reduce(Cpu, index_t outer, index_t n, index_t inner, A identity, F f, Combine combine,
            Out out) {
  if (inner == 1) {
    detail::share_jobs(outer, detail::threads_for(outer * n), [=](index_t o) {
      const auto line = [&](index_t i) { return f(o, i, index_t{0}); };
      out(o, index_t{0}, detail::reduce_range(index_t{0}, n, identity, line, combine));
    });
    return;
  }
  // A strip of inner indices is carried along together: rows are read in the order they lie in
  // memory, and the accumulators fill the SIMD lanes.
  constexpr index_t strip = 64;
  const index_t strips = (inner + strip - 1) / strip;
  detail::share_jobs(outer * strips, detail::threads_for(outer * n * inner), [=](index_t job) {
    const index_t o = job / strips;
    const index_t first = (job % strips) * strip;
    const index_t width = std::min(strip, inner - first);
    A value[strip];
    for (index_t k = 0; k < width; ++k) value[k] = identity;
    for (index_t i = 0; i < n; ++i) {
#pragma omp simd
      for (index_t k = 0; k < width; ++k) value[k] = combine(value[k], f(o, i, first + k));
    }
    for (index_t k = 0; k < width; ++k) out(o, first + k, value[k]);
  });
}

}  // namespace weft

#endif
