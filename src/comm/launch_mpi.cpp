#include "comm/comm_state.hpp"
#include "comm/gather_from_all.hpp"
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
#include <string>
#include <vector>

namespace weft::detail {
namespace {

/// How a rank left body, in a fixed number of bytes.
struct RankOutcome {
  std::int32_t failed = 0;
  std::int32_t agreed = 0;
  std::int32_t code = 0;
  char message[513] = "";
};

RankOutcome to_farewell(const Outcome& outcome) {
  RankOutcome farewell;
  farewell.failed = outcome.failed ? 1 : 0;
  farewell.agreed = outcome.agreed ? 1 : 0;
  farewell.code = outcome.code;
  outcome.message.copy(farewell.message, sizeof(farewell.message) - 1);
  return farewell;
}

Outcome from_farewell(int rank, const RankOutcome& farewell) {
  Outcome outcome;
  outcome.failed = farewell.failed != 0;
  outcome.agreed = farewell.agreed != 0;
  outcome.rank = rank;
  outcome.code = farewell.code;
  outcome.message = farewell.message;
  return outcome;
}

/// Every rank comes here when it has left body. A rank that failed does not wait for ever: others
/// may sit in a collective that it will not enter.
int part(Transport& world, Transport& farewells, const Outcome& mine, bool connected) {
  using namespace std::chrono_literals;
  if (mine.failed && has_abandoned_calls()) {
    world.abort(mine.message);
    return error_code;
  }
  GatheringFromAll<RankOutcome> gathering(farewells, to_farewell(mine));
  // Where ranks cannot settle who speaks, the lowest that failed does so first, and ends the job
  // before the others speak too.
  const auto deadline =
      std::chrono::steady_clock::now() + (connected ? 500ms : 1s + world.rank() * 20ms);
  if (!gathering.wait_until(mine.failed ? deadline
                                        : std::chrono::steady_clock::time_point::max())) {
    world.abort(mine.message);
    return error_code;
  }
  std::vector<Outcome> outcomes;
  int first = -1;
  for (const RankOutcome& farewell : gathering.wait()) {
    const int rank = static_cast<int>(outcomes.size());
    if (farewell.failed != 0 && first < 0) first = rank;
    outcomes.push_back(from_farewell(rank, farewell));
  }
  // A rank that has failed may have ceased to wait just before all had come.
  if (first >= 0 && (world.rank() != 0 || !MpiWatchdog::instance().may_report())) return error_code;
  return conclude(outcomes, first);
}

std::vector<Place> places_of(Transport& world) {
  std::vector<Place> places;
  for (const PackedPlace& packed : gather_from_all(world, pack(this_place()))) {
    places.push_back(unpack(packed));
  }
  return places;
}

/// What is wrong with the way the job was started; the same text on all ranks.
std::string job_complaint(Transport& world, const LaunchOptions& options, const Task& task,
                          const std::string& nested) {
  std::string separate = separate_worlds_complaint(task, world.size(), mpi_library_version());
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
  const std::string complaint = job_complaint(*world, options, task, nested);
  if (!complaint.empty()) return world->rank() == 0 ? usage_error(task, complaint) : usage_code;

  const std::vector<Place> places = places_of(*world);
  const std::string note = crowding_note(places);
  if (!note.empty() && world->rank() == 0 && !settings().quiet) print_error("note: " + note);

  const OpenMpThreads share(threads_for_rank(places, world->rank()));
  const auto farewells = world->split(0, world->rank());
  const bool one_host = std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return place.host == places.front().host;
  });
  WatchedJob watched(*world, one_host);
  Outcome outcome;
  try {
    const Comm comm = make_comm(world).on(device_of_rank(options, places, world->rank()));
    outcome.code = body(comm);
    comm.throw_held_error();
  } catch (...) {
    outcome = outcome_of(world->rank());
  }
  watched.leave(outcome.failed);
  return part(*world, *farewells, outcome, watched.is_connected());
}

}  // namespace

int launch_on_mpi(const LaunchOptions& options, const Task& task, const Body& body) {
  // Before MPI is initialised, since some libraries then set the variables of their own launcher.
  const auto environment = [](const char* name) { return std::getenv(name); };
  const std::string nested =
      options.comm == CommChoice::mpi ? "" : nested_launchers_complaint(environment);
  const MpiSession session;
  try {
    return run_job(make_mpi_world(), options, task, nested, body);
  } catch (const std::exception& error) {
    abort_job(error.what());
    return error_code;
  }
}

}  // namespace weft::detail
