#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"
#include "comm/device_route.hpp"
#include "comm/error_texts.hpp"
#include "comm/launch_outcome.hpp"
#include "comm/launch_worlds.hpp"
#include "comm/thread_transport.hpp"
#include "core/environment.hpp"
#ifdef WEFT_WITH_MPI
#include "comm/mpi_library.hpp"
#endif

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace weft {
namespace detail {

Device device_of_rank(const LaunchOptions& options, const std::vector<RankLocation>& locations,
                      int rank) {
  if (!options.any_gpu) return options.device;
  return Device::cuda(
      gpu_for_rank(locations, rank, device_count(DeviceKind::cuda), settings().gpus));
}

#ifdef WEFT_WITH_MPI
constexpr bool has_mpi = true;
#else
constexpr bool has_mpi = false;

int launch_on_mpi(const LaunchOptions&, const Task& task, const Body&) {
  return usage_error(task, "--comm mpi: this program was built without MPI");
}
#endif

namespace {

const char* environment(const char* name) { return std::getenv(name); }

int launch_on_self(const LaunchOptions& options, const Task& task, const Body& body) {
  if (options.ranks.value_or(1) != 1) {
    return usage_error(task,
                       fmt::format("--comm self is one rank, not --ranks {}", *options.ranks));
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

/// The text of the Error that check() throws; empty if it throws none.
template <class Check>
std::string error_of(Check check) {
  try {
    check();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// For threads whose kernels wait for each other: streams do not share hardware queues. Must be
/// called before CUDA starts. What the user has set stays.
void prepare_cuda_for_waiting_kernels() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

int start(int& argc, char** argv, const Program& program) {
  const Task task = find_task(environment);
  const auto& [read, body] = program;
  std::string error = error_of([] {
    settings();
    allreduce_table();
  });
  if (!error.empty()) return usage_error(task, error, ErrorScope::process);
  LaunchOptions options;
  try {
    const bool reads = read != nullptr;
    options = take_options(argc, argv, reads ? Help::of_program : Help::of_launch);
    if (reads) options.help = read({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failure) {
    return usage_error(task, failure.what());
  }
  if (!options.help.empty()) {
    if (task.rank == 0) std::fputs(options.help.c_str(), stdout);
    return 0;
  }
  if (options.fast_route) error = error_of(set_comm_fast);
  if (!error.empty()) return usage_error(task, error, ErrorScope::process);
  const bool launched = task.launcher != Launcher::none;
  const bool on_threads =
      options.comm == CommChoice::thread || (options.comm == CommChoice::automatic && !launched);
  // Whatever the device of the options: the program may use GPUs by Comm::on.
  if (on_threads && settings().fast) prepare_cuda_for_waiting_kernels();
  error = error_of([&] { require_available(options.device); });
  if (!error.empty()) return usage_error(task, error, ErrorScope::process);
  if (task.rank == 0 && !settings().quiet) {
    for (const std::string& note : notes_on_unknown_variables(environ))
      print_error("note: " + note);
  }

  if (options.comm == CommChoice::self) return launch_on_self(options, task, body);
  if (options.comm == CommChoice::mpi) return launch_on_mpi(options, task, body);
  if (options.comm == CommChoice::automatic && launched) {
    if (has_mpi) return launch_on_mpi(options, task, body);
    error = no_mpi_error(task);
    if (!error.empty()) return usage_error(task, error);
  }
  const int cores = std::min(static_cast<int>(this_location().cores.size()), max_thread_ranks);
  try {
    return launch_on_threads(options.ranks.value_or(cores), options, body);
  } catch (const Error& failure) {  // the threads could not be started
    return usage_error(task, failure.what());
  }
}

}  // namespace
}  // namespace detail

int launch(int& argc, char** argv, const std::function<int(Comm)>& body) {
  return launch(argc, argv, Program{nullptr, body});
}

int launch(int& argc, char** argv, const Program& program) {
  // --comm fast holds for this call only.
  struct ForgetCommFast {
    ForgetCommFast() = default;
    ~ForgetCommFast() { detail::clear_comm_fast(); }
    ForgetCommFast(const ForgetCommFast&) = delete;
    ForgetCommFast& operator=(const ForgetCommFast&) = delete;
  } const forget;
  try {
    return detail::start(argc, argv, program);
  } catch (const std::bad_alloc&) {
    detail::print_error(detail::no_memory_text);
    return detail::error_code;
  }
}

Device gpu_of_rank(const Comm& world) {
  const detail::PackedLocation mine = detail::pack(detail::this_location());
  std::vector<std::uint8_t> all(mine.size() * static_cast<std::size_t>(world.size()));
  world.all_gather(mine, all);
  std::vector<detail::RankLocation> locations;
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    detail::PackedLocation packed;
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), packed.size(), packed.begin());
    locations.push_back(detail::unpack(packed));
  }
  const int gpus = device_count(DeviceKind::cuda);
  return Device::cuda(detail::gpu_for_rank(locations, world.rank(), gpus, detail::settings().gpus));
}

Comm mpi_comm([[maybe_unused]] int fortran_handle) {
#ifdef WEFT_WITH_MPI
  return detail::make_comm(detail::make_mpi_transport(fortran_handle));
#else
  throw Error("mpi_comm: this build of Weft has no MPI");
#endif
}

}  // namespace weft
