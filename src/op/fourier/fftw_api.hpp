#pragma once

// The parts of FFTW that plans use, for both precisions. Only files that are compiled if FFTW is
// found include this header.

#include <fftw3.h>

#include <mutex>

namespace weft::detail {

/// The types and functions of FFTW for one precision.
template <class F>
struct Fftw;

#define WEFT_FFTW_NAMES(F, prefix)                                                                \
  template <>                                                                                     \
  struct Fftw<F> {                                                                                \
    using Plan = prefix##_plan;                                                                   \
    using Dim = prefix##_iodim64;                                                                 \
    using Complex = prefix##_complex;                                                             \
    static constexpr auto plan_complex = prefix##_plan_guru64_dft;                                \
    static constexpr auto plan_forward = prefix##_plan_guru64_dft_r2c;                            \
    static constexpr auto plan_backward = prefix##_plan_guru64_dft_c2r;                           \
    static constexpr auto run_complex = prefix##_execute_dft;                                     \
    static constexpr auto run_forward = prefix##_execute_dft_r2c;                                 \
    static constexpr auto run_backward = prefix##_execute_dft_c2r;                                \
    static constexpr auto plan_cosine = prefix##_plan_guru64_r2r;                                 \
    static constexpr auto run_cosine = prefix##_execute_r2r;                                      \
    static constexpr auto destroy = prefix##_destroy_plan;                                        \
    static constexpr auto alignment_of = prefix##_alignment_of;                                   \
    static int exchange_threads([[maybe_unused]] int count) { WEFT_FFTW_THREADS(prefix, count); } \
  };
// Sets the number of threads of later plans, and returns the one before.
#if defined(WEFT_WITH_FFTW_OMP)
#define WEFT_FFTW_THREADS(prefix, count)                             \
  [[maybe_unused]] static const int ready = prefix##_init_threads(); \
  const int before = prefix##_planner_nthreads();                    \
  prefix##_plan_with_nthreads(count);                                \
  return before
#else
#define WEFT_FFTW_THREADS(prefix, count) return 1
#endif
WEFT_FFTW_NAMES(float, fftwf)
WEFT_FFTW_NAMES(double, fftw)
#undef WEFT_FFTW_THREADS
#undef WEFT_FFTW_NAMES

/// FFTW executes plans on any thread, but its planner is not thread-safe.
inline std::mutex fftw_planner;

/// Sets the number of threads of plans for its lifetime. FFTW has one such number for the process,
/// which the program may have set for plans of its own.
template <class F>
class PlannerThreads {
 public:
  explicit PlannerThreads(int count) : before_(Fftw<F>::exchange_threads(count)) {}
  ~PlannerThreads() { Fftw<F>::exchange_threads(before_); }
  PlannerThreads(const PlannerThreads&) = delete;
  PlannerThreads& operator=(const PlannerThreads&) = delete;

 private:
  int before_;
};

}  // namespace weft::detail
