#pragma once

// What `weft info` shows about the fast allreduce on this machine.

#include "comm/device_route.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {

/// Names and values, in the order in which they are shown.
using InfoLines = std::vector<std::pair<std::string, std::string>>;

/// What decides how ranks that share a GPU exchange its memory.
struct GpuSharing {
  /// Of a rank on the first GPU.
  RouteFacts rank;
  bool ipc = false;
  /// The multi-process service runs; empty if the driver does not tell.
  std::optional<bool> mps;
  int gpus = 1;
  /// Two GPUs that cannot access each other's memory; empty if there are none.
  std::string without_access;
};

InfoLines gpu_sharing_info(const GpuSharing& sharing);

/// Tries to make shared memory. Returns why processes cannot share it; empty if they can.
std::string shared_memory_error();

/// All lines of this process. Needs no ranks.
InfoLines fast_allreduce_info();

}  // namespace weft::detail
