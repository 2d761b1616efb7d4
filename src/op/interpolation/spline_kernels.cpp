#include "op/interpolation/spline_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#include <algorithm>

namespace weft::kernels {
namespace {

/// Both recurrences forget their start by a factor of 2 + sqrt(3) per step. So pieces of the axis
/// are independent: each begins this many steps outside, where the error is below 1e-36 of its
/// elements. Pieces do not depend on threads or devices, so neither do results.
constexpr index_t warm_up = 64;
constexpr index_t piece = 512;

/// Lanes that a job computes together, adjacent in memory.
#if defined(__CUDACC__)
constexpr int lanes = 1;
#else
constexpr int lanes = 16;
#endif

/// A piece [begin, end) of the axis for `count` lanes.
struct SplineJob {
  index_t first;  // offset of position 0 in the first lane
  index_t begin;
  index_t end;
  int count;
};

template <class T>
WEFT_FUNCTION index_t jobs_of(const SplineSystem<T>& system) {
  return system.outer * ((system.n + piece - 1) / piece) * ((system.inner + lanes - 1) / lanes);
}

template <class T>
WEFT_FUNCTION SplineJob job_at(const SplineSystem<T>& system, index_t number) {
  const index_t groups = (system.inner + lanes - 1) / lanes;
  const index_t pieces = (system.n + piece - 1) / piece;
  const index_t lane = number % groups * lanes;
  const index_t begin = number / groups % pieces * piece;
  const index_t outer = number / groups / pieces;
  const index_t left = system.inner - lane;
  return {outer * system.n * system.inner + lane, begin,
          begin + piece < system.n ? begin + piece : system.n,
          static_cast<int>(left < lanes ? left : lanes)};
}

template <class T>
WEFT_FUNCTION RealOf<T> inverse_at(const SplineSystem<T>& system, index_t i) {
  return system.inverses[i <= system.inverse_count ? i - 1 : system.inverse_count - 1];
}

template <class T>
WEFT_FUNCTION void eliminate(const SplineSystem<T>& system, const SplineJob& job, const T* d,
                             T* z) {
  T last[lanes] = {};
  const index_t start = job.begin - warm_up;
  const index_t end = job.end < system.n - 1 ? job.end : system.n - 1;
  for (index_t i = start > 1 ? start : 1; i < end; ++i) {
    const RealOf<T> inverse = inverse_at(system, i);
    const index_t at = job.first + i * system.inner;
    for (int l = 0; l < job.count; ++l) last[l] = inverse * (d[at + l] - last[l]);
    if (i < job.begin) continue;
    for (int l = 0; l < job.count; ++l) z[at + l] = last[l];
  }
}

template <class T, class Update>
WEFT_FUNCTION void substitute(const SplineSystem<T>& system, const SplineJob& job, const T* z, T* y,
                              Update update) {
  T next[lanes] = {};
  const index_t start = job.end + warm_up;
  for (index_t i = (start < system.n ? start : system.n) - 1; i >= job.begin; --i) {
    const index_t at = job.first + i * system.inner;
    const bool is_end = i == 0 || i == system.n - 1;
    const RealOf<T> inverse = is_end ? RealOf<T>{} : inverse_at(system, i);
    for (int l = 0; l < job.count; ++l) {
      next[l] = is_end ? T{} : z[at + l] - inverse * next[l];
    }
    if (i >= job.end) continue;
    for (int l = 0; l < job.count; ++l) update(next[l], y[at + l]);
  }
}

/// Calls f(job) for all jobs.
template <class Device, class T, class F>
void for_each_job(Device device, const SplineSystem<T>& system, F f) {
  const index_t jobs = jobs_of(system);
#if defined(__CUDACC__)
  for_each(device, jobs, [=] WEFT_KERNEL(index_t number) { f(job_at(system, number)); });
#else
  static_cast<void>(device);
  const int threads = detail::threads_for(system.outer * system.n * system.inner);
  detail::share_jobs(jobs, threads, [=](index_t number) { f(job_at(system, number)); });
#endif
}

template <class Device, class T, class Update>
void substitute_each(Device device, const SplineSystem<T>& system, const T* z, T* y,
                     Update update) {
  for_each_job(device, system,
               [=] WEFT_KERNEL(const SplineJob& job) { substitute(system, job, z, y, update); });
}

}  // namespace

template <class Device, class T>
void eliminate_spline(Device device, SplineSystem<T> system, const T* d, T* z) {
  for_each_job(device, system,
               [=] WEFT_KERNEL(const SplineJob& job) { eliminate(system, job, d, z); });
}

template <class Device, class T>
void substitute_spline(Device device, SplineSystem<T> system, const T* z, T alpha, T beta, T* y) {
  with_update(alpha, beta, [&](auto update) { substitute_each(device, system, z, y, update); });
}

#define INSTANTIATE(T)                                                             \
  template void eliminate_spline(WEFT_THIS_DEVICE, SplineSystem<T>, const T*, T*); \
  template void substitute_spline(WEFT_THIS_DEVICE, SplineSystem<T>, const T*, T, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
