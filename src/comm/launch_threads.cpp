#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"
#include "comm/launch_outcome.hpp"
#include "comm/launch_worlds.hpp"
#include "comm/openmp_threads.hpp"
#include "comm/thread_transport.hpp"
#include "core/environment.hpp"
#include "core/this_rank.hpp"

#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace detail {
namespace {

/// The errors of a team of threads.
class TeamFailures {
 public:
  explicit TeamFailures(int ranks) : errors(static_cast<std::size_t>(ranks)) {}

  /// Stores the exception that is being handled and aborts the other ranks. Allocates as little as
  /// possible.
  void add(int rank, Transport& transport) noexcept {
    const Outcome outcome = outcome_of(rank);
    {
      const std::lock_guard lock(mutex_);
      errors[static_cast<std::size_t>(rank)] = std::current_exception();
      // An AbortedError is only a consequence of another error.
      if (first < 0 || (first_is_aborted_ && !outcome.aborted)) {
        first = rank;
        first_is_aborted_ = outcome.aborted;
      }
    }
    transport.abort(outcome.message);
  }

  std::vector<std::exception_ptr> errors;
  /// The first rank to fail; negative if none has.
  int first = -1;

 private:
  std::mutex mutex_;
  bool first_is_aborted_ = false;
};

void run_team(int ranks, const std::function<void(Comm)>& body, TeamFailures& failures) {
  const auto team = make_thread_team(ranks);
  const std::vector<RankLocation> locations(static_cast<std::size_t>(ranks), this_location());
  const int threads = threads_for_rank(locations, 0);
  const auto run_rank = [&](int rank) {
    Transport& transport = *team[static_cast<std::size_t>(rank)];
    const int rank_before = this_rank();
    if (ranks > 1) set_this_rank(rank);
    const OpenMpThreads share(threads);
    try {
      const Comm world = make_comm(team[static_cast<std::size_t>(rank)]);
      body(world);
      world.throw_held_error();
      depart_from_team(transport);
    } catch (...) {
      failures.add(rank, transport);
    }
    set_this_rank(rank_before);  // rank 0 is the thread of the caller
  };

  std::vector<std::jthread> others;
  try {
    others.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 1; rank < ranks; ++rank) others.emplace_back(run_rank, rank);
    run_rank(0);
  } catch (...) {  // out of threads or memory: running ranks must not wait for the others
    failures.add(0, *team[0]);
  }
  others.clear();
  if (failures.first >= 0) return;
  try {
    throw_unreported_failure(*team[0]);
  } catch (...) {
    failures.add(0, *team[0]);
  }
}

}  // namespace

int launch_on_threads(int ranks, const LaunchOptions& options, const Body& body) {
  require_thread_ranks(ranks);
  const std::vector<RankLocation> locations(static_cast<std::size_t>(ranks), this_location());
  const std::string note = oversubscription_note(locations);
  if (!note.empty() && !settings().quiet) print_error("note: " + note);

  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  TeamFailures failures(ranks);
  run_team(
      ranks,
      [&](const Comm& world) {
        const Device device = device_of_rank(options, locations, world.rank());
        outcomes[static_cast<std::size_t>(world.rank())].code = body(world.on(device));
      },
      failures);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const std::exception_ptr& error = failures.errors[rank];
    if (error != nullptr) outcomes[rank] = outcome_of(static_cast<int>(rank), error);
  }
  return conclude(outcomes, failures.first);
}

}  // namespace detail

void run_threads(int ranks, const std::function<void(Comm)>& body) {
  require(ranks > 0, "run_threads: ranks must be at least 1, got {}", ranks);
  detail::require_thread_ranks(ranks);
  detail::TeamFailures failures(ranks);
  detail::run_team(ranks, body, failures);
  if (failures.first >= 0) {
    std::rethrow_exception(failures.errors[static_cast<std::size_t>(failures.first)]);
  }
}

}  // namespace weft
