#include "sparse_bench/times.hpp"

#include <weft/core/stream.hpp>

#include "bench/timing.hpp"
#include "sparse_bench/tensor.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace weft::sparse_bench {
namespace {

/// The bare allreduce of a tensor; null if the library has none for its type.
std::function<void()> bind_raw(const Comm& comm, const bench::Raw* raw, const Case& at,
                               BufferRef in, BufferRef out) {
  if (raw == nullptr) return {};
  const bench::Where where{comm.rank(), comm.size(), 0, in.bytes(), at.dtype, ReduceOp::sum};
  const bench::Plan plan = bench::find_case("allreduce").plan(where);
  return raw->bind(bench::Kind::allreduce, where, plan, bench::Form::out_of_place, in, out);
}

class TimesRun {
 public:
  TimesRun(const Comm& comm, const Options& options, const Case& at, const bench::Raw* raw)
      : comm_(comm),
        sparse_(sparse_options(options, at, comm.device())),
        reduce_(comm, at.n, sparse_),
        gradient_(at.n, at.dtype, comm.device()),
        result_(at.n, at.dtype, comm.device()),
        n_(at.n),
        bare_(bind_raw(comm, raw, at, gradient_.ref(), result_.ref())) {}

  /// All candidates in turn.
  void run(int warmup, int calls) {
    for (int call = 0; call < warmup; ++call) ours();
    dense();
    if (bare_) seconds(bare_);
    phases_.clear();
    for (int call = 0; call < calls; ++call) {
      ours_.push_back(ours());
      dense_.push_back(dense());
      if (bare_) raw_.push_back(seconds(bare_));
    }
    ran_ = reduce_.report().algorithm;
    if (!comm_.device().host_accessible()) time_phases_of_device(warmup, calls);
  }

  TimesRow row(const Case& at) const {
    TimesRow row;
    row.at = at;
    row.ran = ran_;
    row.seconds = bench::median(ours_);
    row.mean_seconds =
        std::accumulate(ours_.begin(), ours_.end(), 0.0) / static_cast<double>(ours_.size());
    row.dense = against(dense_);
    if (bare_) row.raw = against(raw_);
    row.other_seconds = row.seconds;
    for (const Phase& phase : phases) {
      std::vector<double> values;
      for (const SparseTimes& times : phases_) values.push_back(times.*phase.seconds);
      row.phases.*phase.seconds = bench::median(values);
      row.other_seconds -= row.phases.*phase.seconds;
    }
    row.other_seconds = std::max(0.0, row.other_seconds);
    return row;
  }

 private:
  /// Of one call, on the slowest rank.
  template <class F>
  double seconds(const F& call) {
    comm_.barrier();
    const double mine = bench::seconds([&] {
      call();
      Stream::current(comm_.device()).synchronize();
    });
    return comm_.allreduce(mine, ReduceOp::max);
  }

  double dense() {
    return seconds([&] { comm_.allreduce(gradient_.ref(), result_.ref(), ReduceOp::sum); });
  }

  double ours() {
    gradient_.write([&](index_t i) { return gradient_at(comm_.rank(), step_, n_, i); });
    ++step_;
    const double time = seconds([&] { reduce_.run(gradient_.ref(), result_.ref()); });
    SparseTimes mean = reduce_.report().times;
    for (const Phase& phase : phases) {
      mean.*phase.seconds = comm_.allreduce(mean.*phase.seconds) / comm_.size();
    }
    phases_.push_back(mean);
    return time;
  }

  /// Phases are only issued unless the host waits for each, which takes time itself.
  void time_phases_of_device(int warmup, int calls) {
    sparse_.time_phases = true;
    reduce_ = SparseAllreduce(comm_, n_, sparse_);
    for (int call = 0; call < warmup; ++call) ours();
    phases_.clear();
    for (int call = 0; call < calls; ++call) ours();
  }

  Baseline against(const std::vector<double>& baseline) const {
    return {bench::median(baseline), bench::PairedTimes{ours_, baseline}.ratio()};
  }

  Comm comm_;
  SparseOptions sparse_;
  SparseAllreduce reduce_;
  Tensor gradient_;
  Tensor result_;
  index_t n_;
  std::function<void()> bare_;
  std::string ran_;
  index_t step_ = 0;
  std::vector<double> ours_;
  std::vector<double> dense_;
  std::vector<double> raw_;
  std::vector<SparseTimes> phases_;  // of each call
};

}  // namespace

TimesRow measure_times(const Comm& comm, const Options& options, const Case& at,
                       const bench::Raw* raw, int calls) {
  TimesRun run(comm, options, at, raw);
  run.run(options.warmup, calls);
  return run.row(at);
}

}  // namespace weft::sparse_bench
