#pragma once

// The worlds of ranks that launch can run a program in.

#include <weft/comm/comm.hpp>

#include "comm/launch_checks.hpp"
#include "comm/launch_options.hpp"

#include <functional>
#include <vector>

namespace weft::detail {

using Body = std::function<int(Comm)>;

int launch_on_threads(int ranks, const LaunchOptions& options, const Body& body);
/// Also of a build without MPI, where it is refused.
int launch_on_mpi(const LaunchOptions& options, const Task& task, const Body& body);

/// What the options give a rank to work on.
Device device_of_rank(const LaunchOptions& options, const std::vector<Place>& places, int rank);

}  // namespace weft::detail
