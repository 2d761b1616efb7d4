#pragma once

// Sees from the environment and from where ranks run whether a run is what its user thinks it is.

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
  /// mpiexec of MPICH and its relatives.
  hydra,
  /// Whatever else speaks PMI or PMIx, such as srun --mpi=pmi2.
  pmi,
  /// srun that offers nothing to MPI.
  slurm,
};

/// What the launcher says about this process.
struct Task {
  Launcher launcher = Launcher::none;
  int rank = 0;
  /// 0 if the launcher does not tell.
  int size = 0;
};

Task find_task(const Environment& environment);

/// Several tasks were started, but each is a world of its own: `library` is what MPI calls itself.
/// These complaints are empty where nothing is wrong.
std::string separate_worlds_complaint(const Task& task, int world_size, std::string_view library);
/// The tasks of an srun step each started a launcher. Only rank 0 of the inner job can tell: on
/// other nodes, processes of mpirun are below an srun that mpirun itself has called.
std::string nested_launchers_complaint(const Environment& environment);
std::string no_mpi_complaint(const Task& task);

/// Where a rank runs.
struct Place {
  std::string host;
  /// The numbers of the cores it may use, in ascending order.
  std::vector<int> cores;
};

Place this_place();
/// A number for the host that this process runs on, the same in all processes there.
std::uint64_t host_id();

/// A place in a fixed number of bytes, to be sent around; cores from 1024 on are left out.
using PackedPlace = std::array<std::uint8_t, 192>;
PackedPlace pack(const Place& place);
Place unpack(const PackedPlace& packed);

/// Tells of the first host that has fewer cores than ranks, or ranks bound to one and the same
/// core; empty if there is none.
std::string crowding_note(const std::vector<Place>& places);

/// Which GPU of its machine a rank works on, of `gpus`: in turn by its place among the ranks there,
/// or, unless `list` is empty, the entry for that place in `list` (WEFT_GPUS).
int gpu_for_rank(const std::vector<Place>& places, int rank, int gpus,
                 const std::vector<int>& list);

/// The cores of a rank, divided among those ranks it shares them with.
int threads_for_rank(const std::vector<Place>& places, int rank);

}  // namespace weft::detail
