#pragma once

#include "bench/raw.hpp"
#include "sparse_bench/cases.hpp"

namespace weft::sparse_bench {

/// Another allreduce of the same tensor, timed in turn.
struct Baseline {
  double seconds = 0;
  /// The median over the rounds of our time / that of the baseline.
  double ratio = 0;
};

/// Seconds of a call on the slowest rank, medians over the rounds.
struct TimesRow {
  Case at;
  /// The algorithm of the last call.
  std::string ran;
  double seconds = 0;
  /// Includes the calls that search for thresholds, which the median may leave out.
  double mean_seconds = 0;
  /// Comm::allreduce.
  Baseline dense;
  /// The bare call of the library beneath, if there is one.
  std::optional<Baseline> raw;
  /// Means over the ranks. What is in no phase is `other_seconds`.
  SparseTimes phases;
  double other_seconds = 0;

  const Baseline& baseline() const { return raw ? *raw : dense; }
  bool misses(double bar) const { return bar > 0 && baseline().ratio > bar; }
};

/// Times `calls` calls, each on a new gradient, after Options::warmup untimed ones. `raw` may be
/// null. Collective; all ranks get the same row.
TimesRow measure_times(const Comm& comm, const Options& options, const Case& at,
                       const bench::Raw* raw, int calls);

struct Phase {
  const char* name;
  double SparseTimes::*seconds;
};
inline constexpr Phase phases[] = {
    {"select", &SparseTimes::select}, {"split", &SparseTimes::split},
    {"reduce", &SparseTimes::reduce}, {"reselect", &SparseTimes::reselect},
    {"gather", &SparseTimes::gather}, {"scatter", &SparseTimes::scatter},
};

}  // namespace weft::sparse_bench
