#pragma once

// Ways in which launch can run a program.

#include <weft/comm/comm.hpp>

#include "comm/launch_checks.hpp"
#include "comm/launch_options.hpp"

#include <functional>
#include <vector>

namespace weft::detail {

using Body = std::function<int(Comm)>;

int launch_on_threads(int ranks, const LaunchOptions& options, const Body& body);
/// In a build without MPI, a usage error.
int launch_on_mpi(const LaunchOptions& options, const Task& task, const Body& body);

/// The device of a rank according to the options.
Device device_of_rank(const LaunchOptions& options, const std::vector<RankLocation>& locations,
                      int rank);

}  // namespace weft::detail
