#pragma once

// Runs programs in a shell.

#include <string>

namespace weft::test {

struct Ended {
  int code = -1;
  double seconds = 0;
  /// stdout and stderr.
  std::string output;
};

/// Runs a shell command without the environment of a launcher, since the test may itself run in a
/// job. `setup` runs first and may set variables.
Ended run_shell(const std::string& setup, const std::string& command);

}  // namespace weft::test

#ifdef WEFT_TEST_MPIEXEC
#define WEFT_MPIEXEC ("timeout 60 " WEFT_TEST_MPIEXEC)
#define WEFT_SKIP_WITHOUT_MPI()
#else
#define WEFT_MPIEXEC ""
#define WEFT_SKIP_WITHOUT_MPI() GTEST_SKIP() << "this build has no MPI"
#endif
