#pragma once

// Benchmarks of ranks on MPI start themselves under mpirun. The children print lines of numbers,
// which the parent collects.

#include <fmt/core.h>
#include <mpi.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft::bench {

inline std::string mpi_library() {
#if defined(OPEN_MPI)
  return "Open MPI";
#elif defined(MPICH_VERSION)
  return "MPICH";
#else
  return "MPI";
#endif
}

inline bool more_than_cores(int ranks) {
  return ranks > static_cast<int>(std::thread::hardware_concurrency());
}

/// The command that starts `program` on so many ranks, each on a core of its own if there are
/// enough.
inline std::string mpirun(int ranks, const std::string& program) {
  std::string options;
#if defined(OPEN_MPI)
  options = more_than_cores(ranks) ? "--oversubscribe --bind-to none"
                                   // where a core has two hardware threads, both are used
                                   : "--oversubscribe --bind-to core:overload-allowed";
#elif defined(MPICH_VERSION)
  options = more_than_cores(ranks) ? "-bind-to none" : "-bind-to core";
#endif
  return fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 WEFT_QUIET=1 "
      "{} -n {} {} {}",
      WEFT_MPIEXEC, ranks, options, program);
}

/// Runs a command, and passes each line of its output to use(line). Returns whether it succeeded.
template <class Use>
bool for_each_line(const std::string& command, Use use) {
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return false;
  std::vector<char> line(1024);
  while (std::fgets(line.data(), static_cast<int>(line.size()), output) != nullptr) {
    use(std::string(line.data()));
  }
  return pclose(output) == 0;
}

}  // namespace weft::bench
