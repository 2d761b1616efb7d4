#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"
#include "comm/gather_objects.hpp"
#include "comm/launch_outcome.hpp"
#include "comm/launch_worlds.hpp"
#include "comm/mpi_library.hpp"
#include "comm/mpi_native.hpp"
#include "comm/mpi_watchdog.hpp"
#include "comm/openmp_threads.hpp"
#include "comm/watched_job.hpp"
#include "core/environment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {
namespace {

/// The outcome of a rank in a fixed number of bytes.
struct RankOutcome {
  std::int32_t failed = 0;
  std::int32_t agreed = 0;
  std::int32_t code = 0;
  char message[513] = "";
};

RankOutcome pack_outcome(const Outcome& outcome) {
  RankOutcome packed;
  packed.failed = outcome.failed ? 1 : 0;
  packed.agreed = outcome.agreed ? 1 : 0;
  packed.code = outcome.code;
  outcome.message.copy(packed.message, sizeof(packed.message) - 1);
  return packed;
}

Outcome unpack_outcome(int rank, const RankOutcome& packed) {
  Outcome outcome;
  outcome.failed = packed.failed != 0;
  outcome.agreed = packed.agreed != 0;
  outcome.rank = rank;
  outcome.code = packed.code;
  outcome.message = packed.message;
  return outcome;
}

/// Called by every rank when `body` has ended; returns the exit code. A rank that failed waits only
/// for a limited time: others may block in a collective that it will not enter.
int exchange_outcomes(Transport& world, Transport& outcome_transport, const Outcome& mine,
                      bool connected) {
  using namespace std::chrono_literals;
  if (mine.failed && has_abandoned_calls()) {
    world.abort(mine.message);
    return error_code;
  }
  ObjectGather<RankOutcome> gathering(outcome_transport, pack_outcome(mine));
  // If ranks cannot agree on who reports, the lowest failed rank reports first and ends the job
  // before the others do.
  const auto deadline =
      std::chrono::steady_clock::now() + (connected ? 500ms : 1s + world.rank() * 20ms);
  if (!gathering.wait_until(mine.failed ? deadline
                                        : std::chrono::steady_clock::time_point::max())) {
    world.abort(mine.message);
    return error_code;
  }
  std::vector<Outcome> outcomes;
  int first = -1;
  for (const RankOutcome& packed : gathering.wait()) {
    const int rank = static_cast<int>(outcomes.size());
    if (packed.failed != 0 && first < 0) first = rank;
    outcomes.push_back(unpack_outcome(rank, packed));
  }
  // A failed rank may have given up just before all ranks arrived.
  if (first >= 0 && (world.rank() != 0 || !MpiWatchdog::instance().may_report())) return error_code;
  return conclude(outcomes, first);
}

std::vector<RankLocation> gather_locations(Transport& world) {
  std::vector<RankLocation> locations;
  for (const PackedLocation& packed : gather_objects(world, pack(this_location()))) {
    locations.push_back(unpack(packed));
  }
  return locations;
}

/// The error in how the job was started, the same on all ranks; empty if there is none.
std::string job_error(Transport& world, const LaunchOptions& options, const Task& task,
                      const std::string& nested) {
  std::string separate = separate_worlds_error(task, world.size(), mpi_library_version());
  if (!separate.empty()) return separate;
  if (options.ranks && *options.ranks != world.size()) {
    return fmt::format(
        "--ranks {}, but the MPI job has {} ranks; use mpirun -n {}, or --comm thread",
        *options.ranks, world.size(), *options.ranks);
  }
  // Only rank 0 knows whether launchers are nested.
  std::uint8_t is_nested = nested.empty() ? 0 : 1;
  world.broadcast(BufferRef(&is_nested, 1), 0, CallMode::blocking);
  return is_nested == 0 ? "" : fmt::format("nested launchers: {}", nested);
}

int run_job(const std::shared_ptr<Transport>& world, const LaunchOptions& options, const Task& task,
            const std::string& nested, const Body& body) {
  const std::string error = job_error(*world, options, task, nested);
  if (!error.empty()) return world->rank() == 0 ? usage_error(task, error) : usage_code;

  const std::vector<RankLocation> locations = gather_locations(*world);
  const std::string note = oversubscription_note(locations);
  if (!note.empty() && world->rank() == 0 && !settings().quiet) print_error("note: " + note);

  const OpenMpThreads share(threads_for_rank(locations, world->rank()));
  const auto outcome_transport = world->split(0, world->rank());
  const bool one_host = std::all_of(
      locations.begin(), locations.end(),
      [&](const RankLocation& location) { return location.host == locations.front().host; });
  WatchedJob watched(*world, one_host);
  Outcome outcome;
  try {
    const Comm comm = make_comm(world).on(device_of_rank(options, locations, world->rank()));
    outcome.code = body(comm);
    comm.throw_held_error();
  } catch (...) {
    outcome = outcome_of(world->rank());
  }
  watched.leave(outcome.failed);
  return exchange_outcomes(*world, *outcome_transport, outcome, watched.is_connected());
}

}  // namespace

int launch_on_mpi(const LaunchOptions& options, const Task& task, const Body& body) {
  // Read before MPI_Init: some libraries then set the variables of their own launcher.
  const auto environment = [](const char* name) { return std::getenv(name); };
  const std::string nested =
      options.comm == CommChoice::mpi ? "" : nested_launchers_error(environment);
  std::optional<MpiSession> session;
  try {
    session.emplace();
  } catch (const Error& error) {
    return usage_error(task, error.what(), ErrorScope::process);
  }
  try {
    return run_job(make_mpi_world(), options, task, nested, body);
  } catch (const std::exception& error) {
    abort_job(error.what());
    return error_code;
  }
}

}  // namespace weft::detail
