#include "support/shell.hpp"

#include <sys/wait.h>

#include <chrono>
#include <cstdio>

namespace weft::test {

Ended run_shell(const std::string& setup, const std::string& command) {
  const std::string shell =
      "unset OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE PMIX_RANK MPI_LOCALNRANKS SLURM_PROCID "
      "SLURM_STEP_NUM_TASKS WEFT_QUIET OMP_NUM_THREADS; "
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; " +
      setup + "; { " + command + "; } 2>&1";
  Ended ended;
  const auto start = std::chrono::steady_clock::now();
  std::FILE* pipe = popen(shell.c_str(), "r");
  char chunk[4096];
  while (const std::size_t length = std::fread(chunk, 1, sizeof(chunk), pipe)) {
    ended.output.append(chunk, length);
  }
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ended;
}

}  // namespace weft::test
