#include "bench/measure.hpp"

#include <weft/core/graph.hpp>
#include <weft/core/stream.hpp>

#include "bench/memory.hpp"
#include "bench/timing.hpp"

#include <algorithm>

namespace weft::bench {
namespace {

using Call = std::function<void()>;

// Without --iters: as many calls as fit into target_seconds, within these limits.
constexpr double target_seconds = 0.1;
constexpr double min_calls = 20;
constexpr double max_calls = 1000;
constexpr int trial_calls = 3;

// Rounds alternate, so that disturbances of the machine affect both sides.
constexpr int compare_rounds = 9;

/// How long ranks wait before each call.
struct Skew {
  Skew(const Comm& world, const Options& options) {
    if (world.size() == 1) return;
    longest = std::chrono::duration<double, std::micro>(options.skew_us);
    mine = longest * world.rank() / (world.size() - 1);
  }
  std::chrono::duration<double> longest{0};
  std::chrono::duration<double> mine{0};
};

/// The timed unit: one call, or several in a graph.
class Work {
 public:
  Work(Device device, Call call, int in_graph, Skew skew)
      : device_(device), call_(std::move(call)), skew_(skew) {
    if (in_graph == 0) return;
    call_();  // the first call of a communicator may make connections, which cannot be captured
    calls_ = in_graph;
    graph_ = Graph::capture(device, [this, in_graph] {
      for (int i = 0; i < in_graph; ++i) call_();
    });
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void run(int times) const {
    if (graph_) {
      for (int i = 0; i < times; ++i) graph_->launch();
    } else {
      for (int i = 0; i < times; ++i) {
        if (skew_.mine.count() > 0) spin(skew_.mine);
        call_();
      }
    }
    Stream::current(device_).synchronize();
  }

  /// Per call, on the slowest rank. The calls keep the ranks together, so each of them takes the
  /// longest delay, which is subtracted, and the time after it.
  double seconds(const Comm& world, int times) const {
    world.barrier();
    const double mine = bench::seconds([&] { run(times); });
    return world.allreduce(mine, ReduceOp::max) / times / calls_ - skew_.longest.count();
  }

 private:
  Device device_;
  Call call_;
  Skew skew_;
  int calls_ = 1;
  std::optional<Graph> graph_;
};

/// The number of calls in each of `rounds`; the same on all ranks.
int calls_per_round(const Comm& world, const Options& options, const Work& work, int rounds) {
  if (options.iters) return *options.iters;
  const double calls = target_seconds / (work.seconds(world, trial_calls) + options.skew_us * 1e-6);
  return static_cast<int>(std::clamp(calls, min_calls, max_calls) / rounds + 1);
}

Cell compare(const Comm& world, const Work& ours, const Work& theirs, int calls, index_t bytes,
             double factor) {
  const PairedTimes times = time_in_turn(
      compare_rounds, [&] { return ours.seconds(world, calls); },
      [&] { return theirs.seconds(world, calls); });
  Cell cell = make_cell(median(times.ours), bytes, factor);
  cell.raw = RawTimes{median(times.baseline) * 1e6, times.ratio(), times.difference() * 1e6};
  return cell;
}

Cell time_calls(const Comm& world, const Options& options, const Raw* raw, const Where& at,
                const Plan& plan, const Data& data, Form form) {
  CallMemory memory(plan, data, form, world.device(), options.misalign);
  const Bound bound = plan.bind(world, memory.in(), memory.out());
  const Skew skew(world, options);
  const double factor = options.what->factor(at.ranks);
  const Work ours(world.device(), bound.run, options.graph, skew);
  ours.run(options.warmup);

  Call bare;
  if (raw != nullptr) {
    bare = raw->bind(options.what->kind, at, plan, form, memory.in(), memory.out());
  }
  if (bare == nullptr) {
    const int calls = calls_per_round(world, options, ours, 1);
    return make_cell(ours.seconds(world, calls), plan.bytes, factor);
  }
  const Work theirs(world.device(), bare, options.graph, skew);
  theirs.run(options.warmup);
  const int calls = calls_per_round(world, options, ours, compare_rounds);
  return compare(world, ours, theirs, calls, plan.bytes, factor);
}

/// Uses fresh memory, so that the result of an earlier call cannot pass for a correct one.
index_t count_wrong(const Comm& world, const Options& options, const Plan& plan, const Data& data,
                    Form form) {
  CallMemory memory(plan, data, form, world.device(), options.misalign);
  const Bound bound = plan.bind(world, memory.in(), memory.out());
  const Work once(world.device(), bound.run, options.graph == 0 ? 0 : 1, Skew(world, options));
  index_t wrong = 0;
  for (int check = 0; check < options.checks; ++check) {
    memory.prepare();
    once.run(1);
    if (bound.collect) bound.collect();
    Stream::current(world.device()).synchronize();
    wrong += memory.count_wrong();
  }
  return world.allreduce(wrong, ReduceOp::sum);
}

}  // namespace

Cell measure(const Comm& world, const Options& options, const Raw* raw, const Where& at,
             const Plan& plan, const Data& data, Form form) {
  Cell cell = time_calls(world, options, raw, at, plan, data, form);
  if (options.checks > 0) cell.wrong = count_wrong(world, options, plan, data, form);
  return cell;
}

}  // namespace weft::bench
