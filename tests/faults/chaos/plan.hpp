#pragma once

// The plan of a run: the calls of its ranks, and which of them fails, when and how. It follows from
// a seed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::chaos {

/// A small generator with the same values on all machines.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// 0 ... n - 1
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }

 private:
  std::uint64_t state_;
};

enum class StepKind : int {
  barrier,
  broadcast,
  allreduce,
  reduce,
  gather,  // up to here, ranks can make different calls
  reduce_scatter,
  all_gather,
  scatter,
  all_to_all,
  ring,   // sendrecv
  group,  // messages between all pairs
  part,   // an allreduce in a split communicator
  agree,
  sum,  // of an array
  redistribute,
  halo,
  begin_allreduce,  // without completing it
  begin_gather,
  begin_ring,
  begin_halo,
  complete,  // the oldest call in progress
};
inline constexpr int step_kinds = static_cast<int>(StepKind::complete) + 1;

struct Step {
  StepKind kind = StepKind::barrier;
  int count = 1;  // elements
  int root = 0;
  int salt = 0;  // of the values
};

/// How a rank fails.
enum class Action : int {
  none,  // no failure
  throw_error,
  sleep_throw,  // lets the others wait, then throws
  return_early,
  abort,        // Comm::abort, and continues
  exit,         // std::exit
  quit,         // _exit
  stop,         // stops its process (MPI)
  no_memory,    // one of its next allocations fails
  other_count,  // makes a different call
  other_root,
  other_kind,
  drop_request,  // aborts and returns; the others drop a request that fails
};
inline constexpr int actions = static_cast<int>(Action::drop_request) + 1;

std::string_view to_string(Action action);
std::optional<Action> action_named(std::string_view name);

struct Plan {
  std::uint64_t seed = 0;
  int ranks = 1;
  bool checking = false;  // checked calls
  std::vector<Step> steps;
  Action action = Action::none;
  int culprit = 0;
  int fault_step = 0;
  int variation = 0;  // of the action
};

/// On MPI, plans with different calls use checked calls: the library would crash.
Plan make_plan(std::uint64_t seed, int ranks, bool mpi, const std::vector<Action>& allowed);
bool disagrees(Action action);

/// The error text of the failing rank.
std::string reason_of(const Plan& plan);

}  // namespace weft::chaos
