#pragma once

#include "faults/chaos/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::chaos {

struct Options {
  int ranks = 0;
  bool mpi = false;
  std::uint64_t first_seed = 0;
  std::uint64_t end_seed = 0;
  double seconds = 0;  // 0: all seeds; else as many from the first on as there is time for
  std::vector<Action> actions;
  /// As a rank of an MPI job, in place of driving one.
  bool plays = false;
  std::string record;
};

/// Ends the program with a usage message where they make no sense.
Options read_options(int argc, char** argv);
/// The arguments that run one seed again.
std::string repeat(const Options& options, std::uint64_t seed);

}  // namespace weft::chaos
