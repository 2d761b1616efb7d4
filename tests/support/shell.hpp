#pragma once

// Programs, run from outside.

#include <string>

namespace weft::test {

struct Ended {
  int code = -1;
  double seconds = 0;
  /// Of both streams.
  std::string output;
};

/// Runs a shell command as if nobody had launched this test: it may itself run inside of a job.
/// `setup` comes first, for variables that the command uses.
Ended run_shell(const std::string& setup, const std::string& command);

}  // namespace weft::test

#ifdef WEFT_TEST_MPIEXEC
#define WEFT_MPIEXEC ("timeout 60 " WEFT_TEST_MPIEXEC)
#define WEFT_SKIP_WITHOUT_MPI()
#else
#define WEFT_MPIEXEC ""
#define WEFT_SKIP_WITHOUT_MPI() GTEST_SKIP() << "this build has no MPI"
#endif
