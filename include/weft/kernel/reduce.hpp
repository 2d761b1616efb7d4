#pragma once

// Deterministic reductions over index spaces, for *_kernels.cpp files only.

#include <weft/kernel/for_each.hpp>
#include <weft/kernel/targets.hpp>

#if defined(__CUDACC__)

#include <weft/kernel/cuda/reduce.cuh>

#else

#include <array>
#include <cstddef>
#include <utility>

namespace weft {
namespace detail {

// Partial results per chunk and per lane are combined in a fixed order, and their number depends
// only on n: the result does not change with the number of threads or the SIMD width.
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

/// out(line, combine over [0, n) of f(line, i)) for lines so long that threads share each of them.
/// Several lines at a time amortise the start of the threads.
template <index_t together, class A, class F, class Combine, class Out>
void reduce_long_lines(int threads, index_t lines, index_t n, A identity, F f, Combine combine,
                       Out out) {
  const index_t chunk = (n + reduce_chunks - 1) / reduce_chunks;
  std::array<std::array<A, reduce_chunks>, together> partial;
  for (index_t first = 0; first < lines; first += together) {
    const index_t count = std::min(together, lines - first);
    share_jobs(count * reduce_chunks, threads, [&](index_t job) {
      const index_t l = job / reduce_chunks;
      const index_t c = job % reduce_chunks;
      partial[static_cast<std::size_t>(l)][static_cast<std::size_t>(c)] = reduce_range(
          std::min(n, c * chunk), std::min(n, (c + 1) * chunk), identity,
          [&](index_t i) { return f(first + l, i); }, combine);
    });
    for (index_t l = 0; l < count; ++l) {
      A total = identity;
      for (const A& value : partial[static_cast<std::size_t>(l)]) total = combine(total, value);
      out(first + l, total);
    }
  }
}

/// Reduces [0, n); threads share the chunks of a long line.
template <class A, class F, class Combine>
A reduce_line(int threads, index_t n, A identity, F f, Combine combine) {
  if (n < parallel_grain) return reduce_range(0, n, identity, f, combine);
  A result = identity;
  reduce_long_lines<1>(
      threads, 1, n, identity, [&](index_t, index_t i) { return f(i); }, combine,
      [&](index_t, A total) { result = total; });
  return result;
}

// A strip of neighbouring lines is reduced together: rows are read in memory order, and the
// accumulators fill the SIMD lanes. See array_bench and threads_bench.
inline constexpr index_t strip_width = 64;
/// Long lines that may be too few for all threads are divided into this many chunks.
inline constexpr index_t strip_chunks = 32;
inline constexpr index_t few_lines = 1024;

template <class A>
using StripOf = std::array<A, static_cast<std::size_t>(strip_width)>;

/// combine over [begin, end) of f(i, k) for each 0 <= k < width.
template <class A, class F, class Combine>
StripOf<A> reduce_strip(index_t begin, index_t end, index_t width, A identity, F f,
                        Combine combine) {
  StripOf<A> strip;
  A* value = strip.data();
  for (index_t k = 0; k < width; ++k) value[k] = identity;
  for (index_t i = begin; i < end; ++i) {
#pragma omp simd
    for (index_t k = 0; k < width; ++k) value[k] = combine(value[k], f(i, k));
  }
  return strip;
}

/// The same of [0, n) in chunks, which threads share.
template <class A, class F, class Combine>
StripOf<A> reduce_strip_in_chunks(int threads, index_t n, index_t width, A identity, F f,
                                  Combine combine) {
  std::array<StripOf<A>, strip_chunks> partial;
  share_jobs(strip_chunks, threads, [&](index_t c) {
    partial[static_cast<std::size_t>(c)] =
        reduce_strip(n * c / strip_chunks, n * (c + 1) / strip_chunks, width, identity, f, combine);
  });
  return reduce_strip(
      0, strip_chunks, width, identity,
      [&](index_t c, index_t k) {
        return partial[static_cast<std::size_t>(c)][static_cast<std::size_t>(k)];
      },
      combine);
}

/// Runs job(i, threads) for all jobs: several at a time on one thread each, or, if that would leave
/// threads idle, one after the other on all threads.
template <class Job>
void share_or_split_jobs(index_t jobs, int threads, bool can_split, Job job) {
  if (can_split && jobs < many_jobs * threads) {
    for (index_t i = 0; i < jobs; ++i) job(i, threads);
  } else {
    share_jobs(jobs, threads, [=](index_t i) { job(i, 1); });
  }
}

}  // namespace detail

/// combine(f(0), f(1), ..., f(n-1)) starting from `identity`, in an order that depends only on n.
/// Calls of f must be independent, as in for_each.
template <class A, class F, class Combine>
A reduce(Cpu, index_t n, A identity, F f, Combine combine) {
  return detail::reduce_line(detail::threads_for(n), n, identity, f, combine);
}

/// The same with the result in memory of the device; the host does not wait.
template <class A, class F, class Combine>
void reduce_into(Cpu device, index_t n, A identity, F f, Combine combine, A* out) {
  *out = reduce(device, n, identity, f, combine);
}

/// The same for f(first[i], in[i]...).
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
  const int most = detail::threads_for(outer * n * inner);
  if (inner == 1) {
    const auto at = [=](index_t o, index_t i) { return f(o, i, index_t{0}); };
    const auto put = [=](index_t o, A total) { out(o, index_t{0}, total); };
    if (n >= detail::parallel_grain && outer < detail::many_jobs * most) {
      return detail::reduce_long_lines<8>(most, outer, n, identity, at, combine, put);
    }
    detail::share_jobs(outer, most, [=](index_t o) {
      const auto line = [&](index_t i) { return at(o, i); };
      put(o, detail::reduce_line(1, n, identity, line, combine));
    });
    return;
  }
  constexpr index_t widest = detail::strip_width;
  const index_t strips = (inner + widest - 1) / widest;
  const bool is_long =
      inner <= detail::few_lines && n * std::min(inner, widest) >= detail::parallel_grain;
  detail::share_or_split_jobs(outer * strips, most, is_long, [=](index_t job, int threads) {
    const index_t o = job / strips;
    const index_t first = (job % strips) * widest;
    const index_t width = std::min(widest, inner - first);
    const auto at = [&](index_t i, index_t k) { return f(o, i, first + k); };
    const detail::StripOf<A> value =
        is_long ? detail::reduce_strip_in_chunks(threads, n, width, identity, at, combine)
                : detail::reduce_strip(0, n, width, identity, at, combine);
    for (index_t k = 0; k < width; ++k) {
      out(o, first + k, value[static_cast<std::size_t>(k)]);
    }
  });
}

}  // namespace weft

#endif
