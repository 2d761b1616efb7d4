#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include "comm/launch_checks.hpp"
#include "comm/launch_options.hpp"
#include "comm/thread_transport.hpp"
#include "core/environment.hpp"
#ifdef WEFT_WITH_MPI
#include "comm/mpi_calls.hpp"
#include "comm/mpi_transport.hpp"
#include "comm/waiter.hpp"
#include "comm/watched_job.hpp"
#endif

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {
namespace {

using detail::CommChoice;
using detail::LaunchOptions;
using detail::Place;
using detail::Task;

constexpr int error_code = 1;
constexpr int usage_code = 2;

const char* environment(const char* name) { return std::getenv(name); }

constexpr const char* no_memory = "out of memory";  // short enough for a string without any
constexpr const char* unknown_error = "an exception that is no std::exception";

/// One write, so that lines of several ranks do not mix; several if there is no memory for one.
void say(const std::string& text) {
  try {
    const std::string line = "weft: " + text + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (const std::bad_alloc&) {
    for (const char* part : {"weft: ", text.c_str(), "\n"}) std::fputs(part, stderr);
  }
  std::fflush(stderr);
}

/// Before ranks can talk to each other, the launcher's word decides which of them speaks. It may
/// end the job at the first exit with an error, so the others leave rank 0 the time to print.
int decline(const Task& task, const std::string& complaint) {
  if (task.rank == 0) {
    say(complaint);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return usage_code;
}

/// How many threads OpenMP uses for this rank while the object lives. What the user has set is left
/// alone.
class OpenMpThreads {
 public:
#if defined(_OPENMP)
  explicit OpenMpThreads(int threads) {
    if (environment("OMP_NUM_THREADS") != nullptr) return;
    before_ = omp_get_max_threads();
    omp_set_num_threads(threads);
  }
  // Only then: the first setting in a thread takes memory, and OpenMP ends the program without it.
  ~OpenMpThreads() {
    if (before_ > 0) omp_set_num_threads(before_);
  }
#else
  explicit OpenMpThreads(int) {}
#endif
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;
};

/// How a rank left body.
struct Outcome {
  bool failed = false;
  /// It left because another rank had failed.
  bool aborted = false;
  /// All ranks have heard the complaint.
  bool agreed = false;
  /// The rank that the message is about.
  int rank = 0;
  int code = 0;
  std::string message;
};

/// Sets what an error says, as far as there is memory for it.
void set_text(std::string& text, const char* value) noexcept {
  try {
    text = value;
  } catch (const std::bad_alloc&) {
    text = no_memory;
  }
}

/// Of the exception that is being handled.
Outcome outcome_of(int rank) {
  Outcome outcome;
  outcome.failed = true;
  outcome.rank = rank;
  outcome.code = error_code;
  try {
    throw;
  } catch (const AbortedError& aborted) {
    outcome.aborted = true;
    outcome.rank = aborted.failed_rank();
    set_text(outcome.message, aborted.reason().c_str());
  } catch (const AgreedError& agreed) {
    outcome.agreed = true;
    set_text(outcome.message, agreed.what());
  } catch (const std::bad_alloc&) {
    set_text(outcome.message, no_memory);
  } catch (const std::exception& other) {
    set_text(outcome.message, other.what());
  } catch (...) {
    set_text(outcome.message, unknown_error);
  }
  return outcome;
}

Outcome outcome_of(int rank, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (...) {
    return outcome_of(rank);
  }
}

/// Says once what went wrong, if anything did, and returns the exit code of the program. `first` is
/// the rank that failed first, or negative.
int conclude(const std::vector<Outcome>& outcomes, int first) {
  if (first < 0) {
    return std::max_element(outcomes.begin(), outcomes.end(),
                            [](const auto& a, const auto& b) { return a.code < b.code; })
        ->code;
  }
  const Outcome& cause = outcomes[static_cast<std::size_t>(first)];
  const bool same = std::all_of(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
    return outcome.failed && !outcome.aborted && outcome.message == cause.message;
  });
  if (same || cause.agreed) {
    say(cause.message);
  } else {
    std::string text = cause.message;
    try {
      text = fmt::format("rank {} of {} failed: {}", cause.rank, outcomes.size(), cause.message);
    } catch (const std::bad_alloc&) {
      // The message alone must do.
    }
    say(text);
  }
  return error_code;
}

// Threads

/// What came of running a team of threads.
class TeamFailures {
 public:
  explicit TeamFailures(int ranks) : errors(static_cast<std::size_t>(ranks)) {}

  /// Keeps the exception that is being handled, and tells the others of it. Does with as little
  /// memory as there is.
  void keep(int rank, Transport& transport) noexcept {
    const Outcome outcome = outcome_of(rank);
    {
      const std::lock_guard lock(mutex_);
      errors[static_cast<std::size_t>(rank)] = std::current_exception();
      // An AbortedError only counts where nobody has the error behind it.
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
  const auto team = detail::make_thread_team(ranks);
  const std::vector<Place> places(static_cast<std::size_t>(ranks), detail::this_place());
  const int threads = detail::threads_for_rank(places, 0);
  const auto run_rank = [&](int rank) {
    Transport& transport = *team[static_cast<std::size_t>(rank)];
    const OpenMpThreads share(threads);
    try {
      const Comm world(team[static_cast<std::size_t>(rank)]);
      body(world);
      world.throw_held_error();
      detail::depart_from_team(transport);
    } catch (...) {
      failures.keep(rank, transport);
    }
  };

  std::vector<std::jthread> others;
  try {
    others.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 1; rank < ranks; ++rank) others.emplace_back(run_rank, rank);
    run_rank(0);
  } catch (...) {  // no more threads, or no memory: those that run must not wait for the rest
    failures.keep(0, *team[0]);
  }
  others.clear();
  if (failures.first >= 0) return;
  try {
    detail::throw_unheard_failure(*team[0]);
  } catch (...) {
    failures.keep(0, *team[0]);
  }
}

Device device_of_rank(const LaunchOptions& options, const std::vector<Place>& places, int rank) {
  if (!options.any_gpu) return options.device;
  return Device::cuda(
      detail::gpu_for_rank(places, rank, device_count(DeviceKind::cuda), detail::settings().gpus));
}

int launch_on_threads(int ranks, const LaunchOptions& options,
                      const std::function<int(Comm)>& body) {
  const std::vector<Place> places(static_cast<std::size_t>(ranks), detail::this_place());
  const std::string note = detail::crowding_note(places);
  if (!note.empty() && !detail::settings().quiet) say("note: " + note);

  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  TeamFailures failures(ranks);
  run_team(
      ranks,
      [&](const Comm& world) {
        const Device device = device_of_rank(options, places, world.rank());
        outcomes[static_cast<std::size_t>(world.rank())].code = body(world.on(device));
      },
      failures);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const std::exception_ptr& error = failures.errors[rank];
    if (error != nullptr) outcomes[rank] = outcome_of(static_cast<int>(rank), error);
  }
  return conclude(outcomes, failures.first);
}

int launch_on_self(const LaunchOptions& options, const Task& task,
                   const std::function<int(Comm)>& body) {
  if (options.ranks.value_or(1) != 1) {
    return decline(task, fmt::format("--comm self is one rank, not --ranks {}", *options.ranks));
  }
  Outcome outcome;
  try {
    const Comm world = Comm::self().on(options.device);
    outcome.code = body(world);
    world.throw_held_error();
  } catch (...) {
    outcome = outcome_of(0);
  }
  return conclude({outcome}, outcome.failed ? 0 : -1);
}

// MPI

#ifdef WEFT_WITH_MPI
constexpr bool has_mpi = true;

/// How a rank left body, in a fixed number of bytes.
struct Farewell {
  std::int32_t failed = 0;
  std::int32_t agreed = 0;
  std::int32_t code = 0;
  char message[513] = "";
};

Farewell to_farewell(const Outcome& outcome) {
  Farewell farewell;
  farewell.failed = outcome.failed ? 1 : 0;
  farewell.agreed = outcome.agreed ? 1 : 0;
  farewell.code = outcome.code;
  outcome.message.copy(farewell.message, sizeof(farewell.message) - 1);
  return farewell;
}

Outcome from_farewell(int rank, const Farewell& farewell) {
  Outcome outcome;
  outcome.failed = farewell.failed != 0;
  outcome.agreed = farewell.agreed != 0;
  outcome.rank = rank;
  outcome.code = farewell.code;
  outcome.message = farewell.message;
  return outcome;
}

/// Exchanges one object of each rank.
template <class T>
class Exchange {
 public:
  Exchange(Transport& transport, const T& mine)
      : transport_(transport), mine_(mine), all_(static_cast<std::size_t>(transport.size())) {
    parts_.make_even(transport.size(), sizeof(T));
    ticket_ = transport.all_gather(
        ConstMemory(reinterpret_cast<const std::uint8_t*>(&mine_), sizeof(T)),
        Memory(reinterpret_cast<std::uint8_t*>(all_.data()), parts_.extent()), parts_, When::later);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// False if not all ranks take part before `deadline`.
  bool wait_until(std::chrono::steady_clock::time_point deadline) {
    while (!transport_.test(ticket_)) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
  }
  const std::vector<T>& wait() {
    transport_.wait(ticket_);
    return all_;
  }

 private:
  Transport& transport_;
  T mine_;
  std::vector<T> all_;
  Parts parts_;
  Ticket ticket_;
};

/// Every rank comes here when it has left body. A rank that failed does not wait for ever: others
/// may sit in a collective that it will not enter.
int part(Transport& world, Transport& farewells, const Outcome& mine, bool connected) {
  using namespace std::chrono_literals;
  if (mine.failed && detail::has_abandoned_calls()) {
    world.abort(mine.message);
    return error_code;
  }
  Exchange<Farewell> exchange(farewells, to_farewell(mine));
  // Where ranks cannot settle who speaks, the lowest that failed does so first, and ends the job
  // before the others speak too.
  const auto deadline =
      std::chrono::steady_clock::now() + (connected ? 500ms : 1s + world.rank() * 20ms);
  if (!exchange.wait_until(mine.failed ? deadline : std::chrono::steady_clock::time_point::max())) {
    world.abort(mine.message);
    return error_code;
  }
  std::vector<Outcome> outcomes;
  int first = -1;
  for (const Farewell& farewell : exchange.wait()) {
    const int rank = static_cast<int>(outcomes.size());
    if (farewell.failed != 0 && first < 0) first = rank;
    outcomes.push_back(from_farewell(rank, farewell));
  }
  if (first >= 0 && world.rank() != 0) return error_code;
  return conclude(outcomes, first);
}

std::vector<Place> places_of(Transport& world) {
  Exchange<detail::PackedPlace> exchange(world, detail::pack(detail::this_place()));
  std::vector<Place> places;
  for (const detail::PackedPlace& packed : exchange.wait())
    places.push_back(detail::unpack(packed));
  return places;
}

/// What is wrong with the way the job was started; the same text on all ranks.
std::string job_complaint(Transport& world, const LaunchOptions& options, const Task& task,
                          const std::string& nested) {
  std::string separate =
      detail::separate_worlds_complaint(task, world.size(), detail::mpi_library_version());
  if (!separate.empty()) return separate;
  if (options.ranks && *options.ranks != world.size()) {
    return fmt::format(
        "--ranks {}, but the MPI job has {} ranks; use mpirun -n {}, or --comm thread",
        *options.ranks, world.size(), *options.ranks);
  }
  // Only rank 0 knows whether launchers are nested.
  std::uint8_t is_nested = nested.empty() ? 0 : 1;
  world.broadcast(Memory(&is_nested, 1), 0, When::now);
  return is_nested == 0 ? "" : fmt::format("nested launchers: {}", nested);
}

int run_job(const std::shared_ptr<Transport>& world, const LaunchOptions& options, const Task& task,
            const std::string& nested, const std::function<int(Comm)>& body) {
  const std::string complaint = job_complaint(*world, options, task, nested);
  if (!complaint.empty()) return world->rank() == 0 ? decline(task, complaint) : usage_code;

  const std::vector<Place> places = places_of(*world);
  const std::string note = detail::crowding_note(places);
  if (!note.empty() && world->rank() == 0 && !detail::settings().quiet) say("note: " + note);

  const OpenMpThreads share(detail::threads_for_rank(places, world->rank()));
  const auto farewells = world->split(0, world->rank());
  const bool one_host = std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return place.host == places.front().host;
  });
  detail::WatchedJob watched(*world, one_host);
  Outcome outcome;
  try {
    const Comm comm = Comm(world).on(device_of_rank(options, places, world->rank()));
    outcome.code = body(comm);
    comm.throw_held_error();
  } catch (...) {
    outcome = outcome_of(world->rank());
  }
  watched.leave(outcome.failed);
  return part(*world, *farewells, outcome, watched.is_connected());
}

int launch_on_mpi(const LaunchOptions& options, const Task& task,
                  const std::function<int(Comm)>& body) {
  // Before MPI is initialised, since some libraries then set the variables of their own launcher.
  const std::string nested =
      options.comm == CommChoice::mpi ? "" : detail::nested_launchers_complaint(environment);
  const detail::MpiSession session;
  const auto world = detail::make_mpi_world();
  try {
    return run_job(world, options, task, nested, body);
  } catch (const std::exception& error) {
    world->abort(error.what());
    return error_code;
  }
}

#else
constexpr bool has_mpi = false;

int launch_on_mpi(const LaunchOptions&, const Task& task, const std::function<int(Comm)>&) {
  return decline(task, "--comm mpi: this program was built without MPI");
}
#endif

}  // namespace

void run_threads(int ranks, const std::function<void(Comm)>& body) {
  require(ranks > 0, "run_threads: {} ranks cannot run anything", ranks);
  TeamFailures failures(ranks);
  run_team(ranks, body, failures);
  if (failures.first >= 0) {
    std::rethrow_exception(failures.errors[static_cast<std::size_t>(failures.first)]);
  }
}

int launch(int& argc, char** argv, const std::function<int(Comm)>& body) {
  return launch(argc, argv, Program{nullptr, body});
}

namespace {

int start(int& argc, char** argv, const Program& program) {
  const Task task = detail::find_task(environment);
  const auto& [read, body] = program;
  LaunchOptions options;
  try {
    detail::settings();
    const bool reads = read != nullptr;
    options = detail::take_options(argc, argv,
                                   reads ? detail::Help::of_program : detail::Help::of_launch);
    if (reads) options.help = read({argv + std::min(argc, 1), argv + argc});
    if (options.help.empty()) require_available(options.device);
  } catch (const Error& error) {
    return decline(task, error.what());
  }
  if (!options.help.empty()) {
    if (task.rank == 0) std::fputs(options.help.c_str(), stdout);
    return 0;
  }
  if (task.rank == 0 && !detail::settings().quiet) {
    for (const std::string& note : detail::notes_on_unknown_variables(environ))
      say("note: " + note);
  }

  const bool launched = task.launcher != detail::Launcher::none;
  if (options.comm == CommChoice::self) return launch_on_self(options, task, body);
  if (options.comm == CommChoice::mpi) return launch_on_mpi(options, task, body);
  if (options.comm == CommChoice::automatic && launched) {
    if (has_mpi) return launch_on_mpi(options, task, body);
    const std::string complaint = detail::no_mpi_complaint(task);
    if (!complaint.empty()) return decline(task, complaint);
  }
  const int cores = static_cast<int>(detail::this_place().cores.size());
  try {
    return launch_on_threads(options.ranks.value_or(cores), options, body);
  } catch (const Error& error) {  // there was no team to run on
    return decline(task, error.what());
  }
}

}  // namespace

int launch(int& argc, char** argv, const Program& program) {
  try {
    return start(argc, argv, program);
  } catch (const std::bad_alloc&) {
    say(no_memory);
    return error_code;
  }
}

Device gpu_of_rank(const Comm& world) {
  const detail::PackedPlace mine = detail::pack(detail::this_place());
  std::vector<std::uint8_t> all(mine.size() * static_cast<std::size_t>(world.size()));
  world.all_gather(mine, all);
  std::vector<Place> places;
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    detail::PackedPlace packed;
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), packed.size(), packed.begin());
    places.push_back(detail::unpack(packed));
  }
  const int gpus = device_count(DeviceKind::cuda);
  return Device::cuda(detail::gpu_for_rank(places, world.rank(), gpus, detail::settings().gpus));
}

Comm mpi_comm([[maybe_unused]] int fortran_handle) {
#ifdef WEFT_WITH_MPI
  return Comm(detail::make_mpi_transport(fortran_handle));
#else
  throw Error("mpi_comm: this build of Weft has no MPI");
#endif
}

}  // namespace weft
