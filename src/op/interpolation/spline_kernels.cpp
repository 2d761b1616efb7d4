#include "op/interpolation/spline_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

/// Both recurrences forget their start by a factor of 2 + sqrt(3) per step. So pieces of the axis
/// are independent: each begins this many steps outside, where the error is below 1e-36 of its
/// elements. Pieces do not depend on threads or devices, so neither do results.
constexpr index_t warm_up = 64;
constexpr index_t piece = 512;

/// Lines that a job solves together: on a CPU, adjacent ones in SIMD lanes, or few lines along the
/// last axis, whose recurrences overlap.
#if defined(__CUDACC__)
constexpr int adjacent_lanes = 1;
constexpr int apart_lanes = 1;
#else
constexpr int adjacent_lanes = 64;
constexpr int apart_lanes = 8;
#endif

/// The lines along the axis, as [blocks, count].
template <class T>
struct SplineLines {
  SplineSystem<T> system;
  index_t blocks;
  index_t block_step;
  index_t count;
  index_t step;  // between positions of a line

  WEFT_FUNCTION explicit SplineLines(const SplineSystem<T>& s)
      : system(s),
        blocks(s.inner > 1 ? s.outer : 1),
        block_step(s.n * s.inner),
        count(s.inner > 1 ? s.inner : s.outer),
        step(s.inner) {}

  WEFT_FUNCTION RealOf<T> inverse_at(index_t i) const {
    return system.inverses[i <= system.inverse_count ? i - 1 : system.inverse_count - 1];
  }
};

/// A piece [begin, end) of some lines.
struct SplineJob {
  index_t first;  // offset of position 0 of the first line
  index_t begin;
  index_t end;
  int count;
};

/// The jobs that solve up to `lanes` lines each.
template <int lanes>
struct SplineJobs {
  index_t blocks;
  index_t groups;
  index_t pieces;

  template <class T>
  explicit SplineJobs(const SplineLines<T>& lines)
      : blocks(lines.blocks),
        groups((lines.count + lanes - 1) / lanes),
        pieces((lines.system.n + piece - 1) / piece) {}

  index_t count() const { return blocks * groups * pieces; }
  template <class T>
  WEFT_FUNCTION SplineJob at(const SplineLines<T>& lines, index_t number) const {
    const index_t line = number % groups * lanes;
    const index_t begin = number / groups % pieces * piece;
    const index_t block = number / groups / pieces;
    const index_t end = begin + piece;
    const index_t left = lines.count - line;
    return {block * lines.block_step + line * (lines.step > 1 ? 1 : lines.system.n), begin,
            end < lines.system.n ? end : lines.system.n,
            static_cast<int>(left < lanes ? left : lanes)};
  }
};

/// f(l) for 0 <= l < count, the lines of a job.
template <int lanes, class F>
WEFT_FUNCTION void for_each_line(int count, F f) {
  if (count == lanes) {
#pragma omp simd
    for (int l = 0; l < lanes; ++l) f(l);
  } else {
    for (int l = 0; l < count; ++l) f(l);
  }
}

template <int lanes, bool adjacent, class T>
WEFT_FUNCTION void eliminate(const SplineLines<T>& lines, const SplineJob& job, const T* d, T* z) {
  const index_t apart = adjacent ? 1 : lines.system.n;
  const index_t start = job.begin - warm_up;
  const index_t end = job.end < lines.system.n - 1 ? job.end : lines.system.n - 1;
  T last[lanes] = {};
  for (index_t i = start > 1 ? start : 1; i < end; ++i) {
    const RealOf<T> inverse = lines.inverse_at(i);
    const T* const from = d + job.first + i * lines.step;
    T* const to = z + job.first + i * lines.step;
    for_each_line<lanes>(job.count,
                         [&](int l) { last[l] = inverse * (from[l * apart] - last[l]); });
    if (i < job.begin) continue;
    for_each_line<lanes>(job.count, [&](int l) { to[l * apart] = last[l]; });
  }
}

template <int lanes, bool adjacent, class T, class Update>
WEFT_FUNCTION void substitute(const SplineLines<T>& lines, const SplineJob& job, const T* z, T* y,
                              Update update) {
  const index_t apart = adjacent ? 1 : lines.system.n;
  const index_t n = lines.system.n;
  const index_t start = job.end + warm_up;
  T next[lanes] = {};
  for (index_t i = (start < n ? start : n) - 1; i >= job.begin; --i) {
    const T* const from = z + job.first + i * lines.step;
    T* const to = y + job.first + i * lines.step;
    if (i > 0 && i < n - 1) {
      const RealOf<T> inverse = lines.inverse_at(i);
      for_each_line<lanes>(job.count,
                           [&](int l) { next[l] = from[l * apart] - inverse * next[l]; });
    } else {
      for_each_line<lanes>(job.count, [&](int l) { next[l] = T{}; });
    }
    if (i >= job.end) continue;
    for_each_line<lanes>(job.count, [&](int l) { update(next[l], to[l * apart]); });
  }
}

/// Calls f(job) for all jobs.
template <int lanes, class Device, class T, class F>
void for_each_job(Device device, const SplineLines<T>& lines, F f) {
  const SplineJobs<lanes> jobs(lines);
#if defined(__CUDACC__)
  for_each(device, jobs.count(), [=] WEFT_KERNEL(index_t number) { f(jobs.at(lines, number)); });
#else
  static_cast<void>(device);
  const SplineSystem<T>& system = lines.system;
  detail::share_jobs(jobs.count(), detail::threads_for(system.outer * system.n * system.inner),
                     [=](index_t number) { f(jobs.at(lines, number)); });
#endif
}

template <int lanes, bool adjacent, class Device, class T>
void eliminate_lines(Device device, const SplineLines<T>& lines, const T* d, T* z) {
  for_each_job<lanes>(device, lines, [=] WEFT_KERNEL(const SplineJob& job) {
    eliminate<lanes, adjacent>(lines, job, d, z);
  });
}

template <int lanes, bool adjacent, class Device, class T, class Update>
void substitute_lines(Device device, const SplineLines<T>& lines, const T* z, T* y, Update update) {
  for_each_job<lanes>(device, lines, [=] WEFT_KERNEL(const SplineJob& job) {
    substitute<lanes, adjacent>(lines, job, z, y, update);
  });
}

}  // namespace

template <class Device, class T>
void eliminate_spline(Device device, SplineSystem<T> system, const T* d, T* z) {
  const SplineLines<T> lines(system);
  if (system.inner > 1) {
    eliminate_lines<adjacent_lanes, true>(device, lines, d, z);
  } else {
    eliminate_lines<apart_lanes, false>(device, lines, d, z);
  }
}

template <class Device, class T>
void substitute_spline(Device device, SplineSystem<T> system, const T* z, T alpha, T beta, T* y) {
  const SplineLines<T> lines(system);
  with_update(alpha, beta, [&](auto update) {
    if (system.inner > 1) {
      substitute_lines<adjacent_lanes, true>(device, lines, z, y, update);
    } else {
      substitute_lines<apart_lanes, false>(device, lines, z, y, update);
    }
  });
}

#define INSTANTIATE(T)                                                             \
  template void eliminate_spline(WEFT_THIS_DEVICE, SplineSystem<T>, const T*, T*); \
  template void substitute_spline(WEFT_THIS_DEVICE, SplineSystem<T>, const T*, T, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
