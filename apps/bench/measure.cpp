#include "bench/measure.hpp"

#include <weft/core/graph.hpp>
#include <weft/core/stream.hpp>

#include "bench/memory.hpp"

#include <algorithm>
#include <chrono>

namespace weft::bench {
namespace {

using Call = std::function<void()>;

// Without --iters: this long in all, and so many calls.
constexpr double enough_seconds = 0.1;
constexpr double fewest_calls = 20;
constexpr double most_calls = 1000;
constexpr int trial_calls = 3;

// What is compared is timed in turn, so that both see the same disturbances.
constexpr int compare_rounds = 9;

/// A call as it is timed: by itself, or several of them in a graph.
class Work {
 public:
  Work(Device device, Call call, int in_graph) : device_(device), call_(std::move(call)) {
    if (in_graph == 0) return;
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
      for (int i = 0; i < times; ++i) call_();
    }
    Stream::current(device_).synchronize();
  }

  /// Per call, on the slowest rank.
  double seconds(const Comm& world, int times) const {
    using Clock = std::chrono::steady_clock;
    world.barrier();
    const auto start = Clock::now();
    run(times);
    const std::chrono::duration<double> mine = Clock::now() - start;
    return world.allreduce(mine.count(), ReduceOp::max) / times / calls_;
  }

 private:
  Device device_;
  Call call_;
  int calls_ = 1;
  std::optional<Graph> graph_;
};

/// How often to call in each of `rounds`; the same on all ranks.
int calls_per_round(const Comm& world, const Options& options, const Work& work, int rounds) {
  if (options.iters) return *options.iters;
  const double calls = enough_seconds / work.seconds(world, trial_calls);
  return static_cast<int>(std::clamp(calls, fewest_calls, most_calls) / rounds + 1);
}

Cell compare(const Comm& world, const Work& ours, const Work& theirs, int calls, index_t bytes,
             double factor) {
  std::vector<double> our_times;
  std::vector<double> their_times;
  std::vector<double> ratios;
  std::vector<double> differences;
  for (int round = 0; round < compare_rounds; ++round) {
    our_times.push_back(ours.seconds(world, calls));
    their_times.push_back(theirs.seconds(world, calls));
    ratios.push_back(our_times.back() / their_times.back());
    differences.push_back(our_times.back() - their_times.back());
  }
  Cell cell = make_cell(median(our_times), bytes, factor);
  cell.raw = RawTimes{median(their_times) * 1e6, median(ratios), median(differences) * 1e6};
  return cell;
}

Cell time_calls(const Comm& world, const Options& options, const Raw* raw, const Where& at,
                const Plan& plan, const Data& data, Form form) {
  CallMemory memory(plan, data, form, world.device());
  const Bound bound = plan.bind(world, memory.in(), memory.out());
  const double factor = options.what->factor(at.ranks);
  const Work ours(world.device(), bound.run, options.graph);
  ours.run(options.warmup);

  Call bare;
  if (raw != nullptr) {
    bare = raw->bind(options.what->kind, at, plan, form, memory.in(), memory.out());
  }
  if (bare == nullptr) {
    const int calls = calls_per_round(world, options, ours, 1);
    return make_cell(ours.seconds(world, calls), plan.bytes, factor);
  }
  const Work theirs(world.device(), bare, options.graph);
  theirs.run(options.warmup);
  const int calls = calls_per_round(world, options, ours, compare_rounds);
  return compare(world, ours, theirs, calls, plan.bytes, factor);
}

/// On fresh memory, so that no result of a call before can pass for one of this.
index_t count_wrong(const Comm& world, const Options& options, const Plan& plan, const Data& data,
                    Form form) {
  CallMemory memory(plan, data, form, world.device());
  const Bound bound = plan.bind(world, memory.in(), memory.out());
  const Work once(world.device(), bound.run, options.graph == 0 ? 0 : 1);
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
