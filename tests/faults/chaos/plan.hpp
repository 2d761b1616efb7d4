#pragma once

// What the ranks of one run do, which of them fails, when and how: all of it follows from a seed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::chaos {

/// Small, and the same everywhere.
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
  gather,  // up to here, ranks can disagree about them
  reduce_scatter,
  all_gather,
  scatter,
  all_to_all,
  ring,   // sendrecv
  group,  // messages between all pairs
  part,   // an allreduce in a communicator split off
  agree,
  sum,  // of an array
  redistribute,
  halo,
  begin_allreduce,  // and leave it under way
  begin_gather,
  begin_ring,
  begin_halo,
  complete,  // the oldest of those under way
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
  none,  // it does not
  throw_error,
  sleep_throw,  // it lets the others wait for a while, then throws
  return_early,
  abort,        // Comm::abort, and goes on
  exit,         // std::exit
  quit,         // _exit
  stop,         // stops its process (MPI)
  no_memory,    // one of its next allocations fails
  other_count,  // it makes another call than the others
  other_root,
  other_kind,
  drop_request,  // it aborts and returns, and the others drop a request that therefore fails
};
inline constexpr int actions = static_cast<int>(Action::drop_request) + 1;

std::string_view to_string(Action action);
std::optional<Action> action_named(std::string_view name);

struct Plan {
  std::uint64_t seed = 0;
  int ranks = 1;
  bool checking = false;  // calls are compared before they are made
  std::vector<Step> steps;
  Action action = Action::none;
  int culprit = 0;
  int fault_step = 0;
  int variation = 0;  // of the action
};

/// On MPI, calls that differ are compared before they are made: the library would not survive them.
Plan make_plan(std::uint64_t seed, int ranks, bool mpi, const std::vector<Action>& allowed);
bool disagrees(Action action);

/// What the rank that fails says.
std::string reason_of(const Plan& plan);

}  // namespace weft::chaos
