#include "comm/launch_checks.hpp"

#include <weft/core/error.hpp>

#include "comm/number_list.hpp"

#include <fmt/format.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <thread>

namespace weft::detail {
namespace {

constexpr std::size_t host_bytes = 64;
constexpr int packed_cores = 1024;

// Slurm numbers steps that are not the user's srun (the batch script, an interactive shell) from
// the top of 32 bits.
constexpr std::int64_t first_special_step = 0xfffffff0;

std::optional<std::int64_t> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end != '\0' || value < 0) return std::nullopt;
  return value;
}

/// A rank or a number of ranks.
std::optional<int> rank_number(const Environment& environment, const char* name) {
  const std::optional<std::int64_t> value = number(environment, name);
  if (!value || *value > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*value);
}

int rank_number_or(const Environment& environment, const char* name, int otherwise) {
  return rank_number(environment, name).value_or(otherwise);
}

/// The number of tasks of the srun step that this process is in; 0 outside of one.
int step_tasks(const Environment& environment) {
  if (!number(environment, "SLURM_PROCID")) return 0;
  if (number(environment, "SLURM_STEP_ID").value_or(0) >= first_special_step) return 0;
  return rank_number_or(environment, "SLURM_STEP_NUM_TASKS", 0);
}

std::string to_string(Launcher launcher) {
  switch (launcher) {
    case Launcher::open_mpi: return "mpirun of Open MPI";
    case Launcher::hydra: return "mpiexec of MPICH or a derived library";
    case Launcher::pmi: return "a PMI launcher";
    case Launcher::slurm: return "srun";
    case Launcher::none: break;
  }
  return "no launcher";
}

std::string this_host() {
  char host[256] = "";
  return gethostname(host, sizeof(host) - 1) == 0 ? host : "";
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::vector<int> ranks_on(const std::vector<RankLocation>& locations, const std::string& host) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < locations.size(); ++rank) {
    if (locations[rank].host == host) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

std::string oversubscription_on(const std::vector<RankLocation>& locations,
                                const std::string& host) {
  const std::vector<int> ranks = ranks_on(locations, host);
  std::set<int> all_cores;
  std::set<int> taken;
  std::set<int> shared;
  for (const int rank : ranks) {
    const std::vector<int>& cores = locations[static_cast<std::size_t>(rank)].cores;
    all_cores.insert(cores.begin(), cores.end());
    if (cores.size() == 1 && !taken.insert(cores[0]).second) shared.insert(cores[0]);
  }
  if (all_cores.empty() || (ranks.size() <= all_cores.size() && shared.empty())) return {};
  std::string text =
      fmt::format("{} on {} share {} (bound to {})", counted(ranks.size(), "rank"), host,
                  counted(all_cores.size(), "core"), list_of({all_cores.begin(), all_cores.end()}));
  if (!shared.empty()) {
    text += fmt::format("; several are bound to the same core ({})",
                        list_of({shared.begin(), shared.end()}));
  }
  return text;
}

}  // namespace

Task find_task(const Environment& environment) {
  if (const auto size = rank_number(environment, "OMPI_COMM_WORLD_SIZE")) {
    return {Launcher::open_mpi, rank_number_or(environment, "OMPI_COMM_WORLD_RANK", 0), *size};
  }
  if (const auto local_size = rank_number(environment, "MPI_LOCALNRANKS")) {
    const int local_rank = rank_number_or(environment, "MPI_LOCALRANKID", 0);
    return {Launcher::hydra, rank_number_or(environment, "PMI_RANK", local_rank),
            rank_number_or(environment, "PMI_SIZE", *local_size)};
  }
  if (const auto rank = rank_number(environment, "PMI_RANK")) {
    return {Launcher::pmi, *rank, rank_number_or(environment, "PMI_SIZE", 0)};
  }
  const int slurm_rank = rank_number_or(environment, "SLURM_PROCID", 0);
  if (const auto rank = rank_number(environment, "PMIX_RANK")) {
    return {Launcher::pmi, *rank, step_tasks(environment)};
  }
  if (const int tasks = step_tasks(environment); tasks > 0) {
    return {Launcher::slurm, slurm_rank, tasks};
  }
  return {};
}

std::string separate_worlds_error(const Task& task, int world_size, std::string_view library) {
  if (task.size <= 1 || world_size > 1) return {};
  const std::string advice =
      task.launcher == Launcher::slurm
          ? "srun has to be told how to serve it: try srun --mpi=pmix (srun --mpi=list shows what "
            "there is), or use the mpirun of that library"
          : "that launcher belongs to another MPI library: use the mpirun or mpiexec of this one";
  return fmt::format(
      "{} started {} tasks, but MPI ({}) made each of them a job of one rank; {}. To run on "
      "threads, start the program without a launcher, or with --comm thread",
      to_string(task.launcher), task.size, library, advice);
}

std::string nested_launchers_error(const Environment& environment) {
  const int tasks = step_tasks(environment);
  const Task inner = find_task(environment);
  if (tasks <= 1) return {};
  const bool is_open_mpi = inner.launcher == Launcher::open_mpi;
  if (!is_open_mpi && inner.launcher != Launcher::hydra) return {};
  // A launcher that spans several nodes may itself have called srun, with one task per node.
  const int on_this_node = rank_number_or(
      environment, is_open_mpi ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "MPI_LOCALNRANKS", 0);
  const bool one_per_node = rank_number_or(environment, "SLURM_STEP_NUM_NODES", 0) == tasks;
  if (one_per_node && on_this_node > 0 && inner.size > on_this_node) return {};
  return fmt::format(
      "srun started {} tasks, and in each of them {} started a job of {} of its own; use srun "
      "alone (srun -n {} --mpi=pmix), or mpirun alone from the batch script. If {} separate jobs "
      "are intended, pass --comm mpi",
      tasks, to_string(inner.launcher), counted(static_cast<std::size_t>(inner.size), "rank"),
      std::int64_t{tasks} * inner.size, tasks);
}

std::string no_mpi_error(const Task& task) {
  if (task.size <= 1) return {};
  return fmt::format(
      "{} started {} tasks, but this program was built without MPI, so they cannot work together; "
      "build Weft with MPI (cmake -D WEFT_MPI=ON), or start one task and pass --ranks {} to run on "
      "threads",
      to_string(task.launcher), task.size, task.size);
}

std::uint64_t host_id() { return std::hash<std::string>{}(this_host()); }

std::uint64_t machine_id() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot.empty() ? host_id() : std::hash<std::string>{}(boot);
}

RankLocation this_location() {
  RankLocation location;
  location.host = this_host();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) location.cores.push_back(core);
    }
  } else {  // a machine with more cores than the set can hold
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (int core = 0; core < cores; ++core) location.cores.push_back(core);
  }
  return location;
}

PackedLocation pack(const RankLocation& location) {
  PackedLocation packed{};
  const std::size_t length = std::min(location.host.size(), host_bytes - 1);
  std::copy_n(location.host.begin(), length, packed.begin());
  for (const int core : location.cores) {
    if (core >= packed_cores) continue;
    const std::size_t byte = host_bytes + static_cast<std::size_t>(core / 8);
    packed[byte] = static_cast<std::uint8_t>(packed[byte] | 1 << core % 8);
  }
  return packed;
}

RankLocation unpack(const PackedLocation& packed) {
  RankLocation location;
  const auto* end = std::find(packed.begin(), packed.begin() + host_bytes, 0);
  location.host.assign(packed.begin(), end);
  for (int core = 0; core < packed_cores; ++core) {
    const unsigned byte = packed[host_bytes + static_cast<std::size_t>(core / 8)];
    if ((byte >> core % 8 & 1U) != 0) location.cores.push_back(core);
  }
  return location;
}

std::string oversubscription_note(const std::vector<RankLocation>& locations) {
  std::set<std::string> hosts;
  for (const RankLocation& location : locations) {
    if (!hosts.insert(location.host).second) continue;
    std::string text = oversubscription_on(locations, location.host);
    if (!text.empty()) return text;
  }
  return {};
}

int gpu_for_rank(const std::vector<RankLocation>& locations, int rank, int gpus,
                 const std::vector<int>& list) {
  const auto self = locations.begin() + rank;
  const auto location = static_cast<std::size_t>(
      std::count_if(locations.begin(), self,
                    [&](const RankLocation& other) { return other.host == self->host; }));
  if (list.empty()) return static_cast<int>(location) % std::max(gpus, 1);
  // An error is the same on every rank of the host.
  const std::size_t ranks = ranks_on(locations, self->host).size();
  require(ranks <= list.size(), "WEFT_GPUS has {} entries, but {} has {} ranks", list.size(),
          self->host, ranks);
  const int highest = *std::max_element(list.begin(), list.end());
  require(highest < gpus, "WEFT_GPUS names GPU {}, but {} has {} GPUs, numbered from 0", highest,
          self->host, gpus);
  return list[location];
}

int threads_for_rank(const std::vector<RankLocation>& locations, int rank) {
  const RankLocation& mine = locations[static_cast<std::size_t>(rank)];
  const auto shares_cores = [&](const RankLocation& other) {
    return other.host == mine.host &&
           std::find_first_of(mine.cores.begin(), mine.cores.end(), other.cores.begin(),
                              other.cores.end()) != mine.cores.end();
  };
  const auto sharing = std::count_if(locations.begin(), locations.end(), shares_cores);
  return std::max(1,
                  static_cast<int>(std::ssize(mine.cores) / std::max(sharing, std::ptrdiff_t{1})));
}

}  // namespace weft::detail
