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
  double seconds = 0;  // 0: all seeds; otherwise as many as fit into this time
  std::vector<Action> actions;
  /// This process is a rank of an MPI job, not the driver.
  bool plays = false;
  std::string record;
};

/// Ends the program with a usage message if they are invalid.
Options read_options(int argc, char** argv);
/// The arguments that repeat one seed.
std::string repeat(const Options& options, std::uint64_t seed);

}  // namespace weft::chaos
