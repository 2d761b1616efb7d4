#pragma once

#include <weft/comm/comm.hpp>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

/// Runs `body` on every rank and returns the exit code of the program: the largest value that
/// `body` returned, or 1 after an error, which is printed once.
///
/// Ranks are threads of this process (--ranks N, default: one per core), or the processes of an MPI
/// job if mpirun, mpiexec or srun started the program. The options --ranks, --comm, --device and
/// --help are removed from argv; others are left to the program. For an invalid option or WEFT_
/// variable, or if MPI cannot be initialised, launch prints one error and returns 2 before any rank
/// starts.
int launch(int& argc, char** argv, const std::function<int(Comm)>& body);

template <class Body>
  requires std::is_void_v<std::invoke_result_t<Body, Comm>>
int launch(int& argc, char** argv, Body body) {
  return launch(argc, argv, std::function<int(Comm)>([&body](Comm world) {
                  body(std::move(world));
                  return 0;
                }));
}

/// A program with its own options and --help.
struct Program {
  /// Parses the arguments that launch leaves, without the program's name. Called in every process
  /// before ranks start. Returns a text to print instead of running, or an empty one. If it throws,
  /// the error is printed once and the exit code is 2.
  std::function<std::string(const std::vector<std::string>& arguments)> read;
  std::function<int(Comm)> body;
};

int launch(int& argc, char** argv, const Program& program);
/// The help text of the options of launch, for the --help of such a program.
std::string launch_help();

/// Runs `body` on `ranks` threads of this process. If a rank fails, all are stopped, and the error
/// of the first one to fail is thrown.
void run_threads(int ranks, const std::function<void(Comm)>& body);

/// The GPU that --device cuda gives this rank. Collective.
Device gpu_of_rank(const Comm& world);

/// The communicator of an MPI job that the program has initialised, from a Fortran handle:
/// `mpi_comm(MPI_Comm_c2f(MPI_COMM_WORLD))`. Collective; throws in a build without MPI.
Comm mpi_comm(int fortran_handle);

}  // namespace weft
