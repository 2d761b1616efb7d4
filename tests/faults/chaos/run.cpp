#include "faults/chaos/run.hpp"

#include <weft/array/distributed_array.hpp>
#include <weft/array/reductions.hpp>
#include <weft/comm/launch.hpp>

#include "faults/chaos/allocation.hpp"
#include "faults/chaos/player.hpp"
#include "faults/support/process.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft::chaos {
namespace {

/// An error type of the user.
class ChaosError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether the rank continues after its fault.
enum class Then : int { play, leave };

Step altered(const Step& step, const Plan& plan) {
  Step other = step;
  switch (plan.action) {
    case Action::other_count: other.count += 1 + plan.variation % 3; break;
    case Action::other_root: other.root = (step.root + 1) % plan.ranks; break;
    case Action::other_kind:
      other.kind = step.kind == StepKind::barrier ? StepKind::allreduce : StepKind::barrier;
      break;
    default: break;
  }
  return other;
}

/// The fault of the failing rank, instead of a step or before it.
Then fail(const Plan& plan, Player& player, Record& record) {
  const Step& step = plan.steps[static_cast<std::size_t>(plan.fault_step)];
  const auto sleep = std::chrono::milliseconds(plan.variation % 300);
  if (plan.action == Action::sleep_throw) std::this_thread::sleep_for(sleep);
  if (plan.action != Action::none && plan.action != Action::no_memory)
    record.fault_at = faults::now();
  switch (plan.action) {
    case Action::none: break;
    case Action::throw_error:
    case Action::sleep_throw: throw ChaosError(reason_of(plan));
    case Action::return_early: return Then::leave;
    case Action::abort: player.world().abort(reason_of(plan)); break;
    case Action::exit: std::exit(exit_code);
    case Action::quit: _exit(exit_code);
    case Action::stop: raise(SIGSTOP); break;
    case Action::no_memory: fail_allocation(1 + plan.variation % 40, record.fault_at); break;
    case Action::drop_request: player.world().abort(reason_of(plan)); return Then::leave;
    case Action::other_count:
    case Action::other_root:
    case Action::other_kind: player.play(altered(step, plan)); break;
  }
  return Then::play;
}

/// Begins a call that the failing rank does not make, without waiting for it.
Then drop(const Plan& plan, Player& player) {
  std::vector<double> data(plan.variation % 2 == 0 ? 1 : 5000, 1.0);
  { const Request request = player.world().start_allreduce(data, data); }
  if (plan.variation % 3 == 0) return Then::leave;
  if (plan.variation % 3 == 1) {
    const DistributedArray<double> x(Layout::scatter(player.world(), {plan.ranks, 3}));
    static_cast<void>(sum(x));
    throw WrongData("a call succeeded after a failed one");
  }
  return Then::play;
}

void play(const Plan& plan, const Comm& world, Record& record) {
  world.check_calls(plan.checking);
  Player player(world);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const bool here = static_cast<int>(i) == plan.fault_step;
    const bool culprit = world.rank() == plan.culprit;
    if (here && culprit && fail(plan, player, record) == Then::leave) return;
    if (here && !culprit && plan.action == Action::drop_request) {
      if (drop(plan, player) == Then::leave) return;
    }
    player.play(plan.steps[i]);
  }
  player.finish();
  cancel_failing_allocation();
  world.barrier();
}

void note(RankRecord& mine, Ending ending, const char* text) {
  std::strncpy(mine.text, text, sizeof(mine.text) - 1);
  mine.at = faults::now();
  mine.ending = ending;
}

void play_and_note(const Plan& plan, const Comm& world, Record& record) {
  RankRecord& mine = record.ranks[world.rank()];
  mine.pid = getpid();
  try {
    play(plan, world, record);
    cancel_failing_allocation();
    note(mine, Ending::returned, "");
  } catch (const WrongData& error) {
    record.wrong_data = true;
    note(mine, Ending::failed, error.what());
    throw;
  } catch (const std::exception& error) {
    cancel_failing_allocation();
    note(mine, Ending::failed, error.what());
    throw;
  }
}

}  // namespace

int run_plan(const Plan& plan, bool mpi, Record& record) {
  std::string ranks = std::to_string(plan.ranks);
  std::vector<std::string> words = {"weft_chaos", "--comm", mpi ? "mpi" : "thread", "--ranks",
                                    ranks};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  return launch(count, arguments.data(),
                [&](const Comm& world) { play_and_note(plan, world, record); });
}

}  // namespace weft::chaos
