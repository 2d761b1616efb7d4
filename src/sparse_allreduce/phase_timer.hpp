#pragma once

#include <weft/core/stream.hpp>

#include "core/profile_range.hpp"
#include "sparse_allreduce/sparse_context.hpp"

#include <chrono>

namespace weft::detail {

/// The phases of a call, as profilers and SparseTimes name them.
struct SparsePhase {
  const char* name;
  double SparseTimes::*seconds;
};
inline constexpr SparsePhase select_phase = {"weft sparse: select", &SparseTimes::select};
inline constexpr SparsePhase split_phase = {"weft sparse: split", &SparseTimes::split};
inline constexpr SparsePhase reduce_phase = {"weft sparse: reduce", &SparseTimes::reduce};
inline constexpr SparsePhase reselect_phase = {"weft sparse: reselect", &SparseTimes::reselect};
inline constexpr SparsePhase gather_phase = {"weft sparse: gather", &SparseTimes::gather};
inline constexpr SparsePhase scatter_phase = {"weft sparse: scatter", &SparseTimes::scatter};

/// Adds the time of its scope to that of a phase, and names it in profilers.
class PhaseTimer {
 public:
  PhaseTimer(SparseContext& context, const SparsePhase& phase)
      : context_(context), phase_(phase), range_(phase.name) {}
  ~PhaseTimer() {
    if (context_.options.time_phases) Stream::current(context_.device()).synchronize();
    context_.report.times.*phase_.seconds +=
        std::chrono::duration<double>(Clock::now() - start_).count();
  }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  SparseContext& context_;
  const SparsePhase& phase_;
  ProfileRange range_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace weft::detail
