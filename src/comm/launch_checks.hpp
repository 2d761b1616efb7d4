#pragma once

// Detects mistakes in how a job was started from the environment and from where its ranks run.

#include "core/environment.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

enum class Launcher {
  none,
  /// mpirun or mpiexec of Open MPI.
  open_mpi,
  /// mpiexec of MPICH and libraries derived from it.
  hydra,
  /// Another launcher with PMI or PMIx, such as srun --mpi=pmi2.
  pmi,
  /// srun without support for MPI.
  slurm,
};

/// This process according to its launcher.
struct Task {
  Launcher launcher = Launcher::none;
  int rank = 0;
  /// 0 if unknown.
  int size = 0;
};

Task find_task(const Environment& environment);

// These return the text of an error, empty if there is none.

/// Several tasks were started, but each became an MPI job of its own. `library` is the name of the
/// MPI library.
std::string separate_worlds_error(const Task& task, int world_size, std::string_view library);
/// The tasks of an srun step each started a launcher. Only rank 0 of the inner job can detect that:
/// on other nodes, mpirun itself starts its processes with srun.
std::string nested_launchers_error(const Environment& environment);
std::string no_mpi_error(const Task& task);

/// The host and the cores of a rank.
struct RankLocation {
  std::string host;
  /// Cores it may use, in ascending order.
  std::vector<int> cores;
};

RankLocation this_location();
/// A hash of the host name: the same in all processes of the host.
std::uint64_t host_id();
/// Identifies the running kernel: the same in all containers of a machine, which have host names of
/// their own.
std::uint64_t machine_id();

/// A location in a fixed number of bytes, to be sent; cores from 1024 on are left out.
using PackedLocation = std::array<std::uint8_t, 192>;
PackedLocation pack(const RankLocation& location);
RankLocation unpack(const PackedLocation& packed);

/// Describes the first host with fewer cores than ranks, or with several ranks bound to one core;
/// empty if there is none.
std::string oversubscription_note(const std::vector<RankLocation>& locations);

/// The GPU of a rank, of `gpus` on its host. Ranks of a host take GPUs in turn, or, unless `list`
/// (WEFT_GPUS) is empty, its entries.
int gpu_for_rank(const std::vector<RankLocation>& locations, int rank, int gpus,
                 const std::vector<int>& list);

/// The cores of a rank divided by the number of ranks that share them.
int threads_for_rank(const std::vector<RankLocation>& locations, int rank);

}  // namespace weft::detail
