#pragma once

#include <weft/comm/comm.hpp>

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

/// Runs `body` on every rank and returns the exit code of the program: 0, or 1 after an error,
/// which is printed once; or the largest value that `body` returned.
///
/// Ranks are threads of this process (--ranks N, default: one per core), or the processes of an MPI
/// job when the program was started by mpirun, mpiexec or srun. Options that are understood
/// (--ranks, --comm, --device, --help) are taken out of argv; the rest is left to the program. A
/// bad option, or a bad value of a WEFT_ variable, is printed once and returns 2 before any rank
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

/// A program that has options, and so a --help, of its own.
struct Program {
  /// Reads the arguments that launch leaves, without the program's name, in every process before
  /// there are ranks. Returns what is to be shown instead of running, if anything. What it throws
  /// is printed once, and the exit code is 2.
  std::function<std::string(const std::vector<std::string>& arguments)> read;
  std::function<int(Comm)> body;
};

int launch(int& argc, char** argv, const Program& program);
/// What launch says about its own options, for the help of such a program.
std::string launch_help();

/// Runs `body` on `ranks` threads of this process. If ranks fail, all are stopped, and the error of
/// the first one to fail is thrown here.
void run_threads(int ranks, const std::function<void(Comm)>& body);

/// The GPU that --device cuda gives this rank. Collective.
Device gpu_of_rank(const Comm& world);

/// The communicator of an MPI job that the program itself has initialised, from a Fortran handle:
/// `mpi_comm(MPI_Comm_c2f(MPI_COMM_WORLD))`. Collective; throws in a build without MPI.
Comm mpi_comm(int fortran_handle);

}  // namespace weft
